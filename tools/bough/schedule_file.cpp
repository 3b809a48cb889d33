// SPDX-License-Identifier: BSL-1.0
// Reading a schedule that 'bough schedule --json' wrote, and proving it: nothing in the file is believed.
#include "schedule_file.hpp"

#include "json.hpp"
#include "parse.hpp" // usage_error
#include <bough/verify/verify.hpp>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <utility>

namespace cli {

namespace {

// The limits keep what the proof needs below about a gigabyte, whatever a file says.
constexpr std::uint32_t most_planes = 1u << 16;
constexpr std::uint64_t most_cells = std::uint64_t{1} << 25;

class reader {
public:
    explicit reader(const std::string& path) : path_(path) {}

    std::string argument() const { return "--schedule: file '" + path_ + "'"; }
    [[noreturn]] void refuse(const std::string& what) const { throw usage_error(argument(), what); }

    json document() const {
        std::ifstream in(path_);
        if (!in) refuse("cannot be opened");
        json value;
        try {
            value = json::parse(in, nullptr, false);
        } catch (const std::ios_base::failure&) { // a folder, for one
            refuse("cannot be read");
        }
        if (in.bad() || value.is_discarded()) refuse("is not JSON");
        return value;
    }
    const json& member(const json& of, const char* name) const {
        if (!of.is_object() || !of.contains(name)) refuse(std::string("lacks \"") + name + "\"");
        return of[name];
    }
    const json& list(const json& of, const char* name) const {
        const json& value = member(of, name);
        if (!value.is_array()) refuse(std::string("\"") + name + "\" is not a list");
        return value;
    }
    std::string text(const json& of, const char* name) const {
        const json& value = member(of, name);
        if (!value.is_string()) refuse(std::string("\"") + name + "\" is not text");
        return value;
    }
    std::uint32_t number(const json& of, const char* name, std::uint64_t most) const {
        const json& value = member(of, name);
        if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most)
            refuse(std::string("\"") + name + "\" is not a number from 0 to " + std::to_string(most));
        return value;
    }

    bough::slice slice(const json& of, const char* name) const {
        const json& value = member(of, name);
        bough::slice s;
        s.buffer = buffer(text(value, "buffer"));
        s.first = number(value, "first", most_steps);
        s.count = number(value, "count", most_steps);
        return s;
    }
    bough::step step(const json& of) const {
        constexpr std::uint64_t any_rank = bough::no_rank - 1; // the proof says whether there is such a one
        const std::string verb = text(of, "verb");
        const bool more = of.contains("more") && of["more"] == true;
        if (verb == "send") return bough::send_step(number(of, "peer", any_rank), slice(of, "from"), more);
        if (verb == "receive") return bough::receive_step(number(of, "peer", any_rank), slice(of, "out"), more);
        if (verb == "combine") return bough::combine_step(slice(of, "a"), slice(of, "b"), slice(of, "out"));
        if (verb == "copy") return bough::copy_step(slice(of, "from"), slice(of, "out"));
        refuse("there is no verb '" + verb + "'");
    }

private:
    bough::buffer buffer(const std::string& name) const {
        constexpr std::string_view plane = "scratch", packed = "packed"; // and a number
        if (name == "input") return bough::input;
        if (name == "output") return bough::output;
        const bool is_packed = name.starts_with(packed);
        if (!is_packed && !name.starts_with(plane)) refuse("there is no buffer '" + name + "'");
        std::uint32_t number = 0;
        const char* const last = name.data() + name.size();
        const auto [end, error] = std::from_chars(name.data() + (is_packed ? packed : plane).size(), last, number);
        if (error != std::errc{} || end != last || number >= most_planes)
            refuse("there is no buffer '" + name + "': the planes are scratch0 to scratch" +
                   std::to_string(most_planes - 1));
        return is_packed ? bough::packed_scratch(number) : bough::scratch(number);
    }

    std::string path_;
};

} // namespace

schedule_file read_schedule_file(const std::string& path) {
    const reader in(path);
    const json document = in.document();
    schedule_file file;
    const std::string name = in.text(document, "collective");
    const auto collective = any_collective_of(name);
    if (!collective) in.refuse("there is no collective '" + name + "'");
    file.collective = *collective;
    if (has_neighbours(file.collective)) {
        auto who = neighbours_of(in.argument() + ": \"neighbours\"", in.member(document, "neighbours"));
        if (!who) in.refuse("\"neighbours\" is no grid, as \"box:4x4x4\", and does not list whom each rank sends to");
        file.neighbours = std::move(*who);
    }
    file.algorithm = in.text(document, "algorithm");
    file.at.size = in.number(document, "size", most_steps);
    file.at.root = in.number(document, "root", most_steps);
    file.at.blocks = in.number(document, "blocks", most_steps);
    const json& ranks = in.list(document, "ranks");
    if (has_neighbours(file.collective) && file.at.size != file.neighbours.ranks)
        in.refuse("\"neighbours\" is of another number of ranks");
    if (file.at.size == 0 || file.at.root >= file.at.size) in.refuse("\"root\" is not one of the ranks");
    if (ranks.size() != file.at.size) in.refuse("\"ranks\" does not list every rank");

    std::uint64_t cells = 0;
    file.scratch_max.assign(file.at.size, 0);
    for (bough::rank_t r = 0; r != file.at.size; ++r) {
        if (in.number(ranks[r], "rank", most_steps) != r) in.refuse("\"ranks\" is not in order");
        auto& steps = file.schedules.emplace_back().steps;
        std::uint64_t planes = 0;
        for (const json& value : in.list(ranks[r], "steps")) {
            const bough::step& s = steps.emplace_back(in.step(value));
            for (const bough::slice& part : {s.a, s.b, s.out})
                if (bough::is_scratch(part.buffer))
                    planes = std::max(planes, std::uint64_t{bough::scratch_plane(part.buffer)} + 1);
        }
        cells += (planes + 2) * file.at.blocks;
        if (cells > most_cells) in.refuse("asks for too much memory");
        file.scratch_max[r] = static_cast<bough::block_t>(planes * file.at.blocks);
    }
    return file;
}

bough::verdict verify(const schedule_file& file) {
    const auto prove = [&](auto goal) {
        return bough::verify_schedules(goal, file.at, file.schedules, file.scratch_max);
    };
    if (file.collective == collective::neighbour_allgather)
        return prove(bough::goal::neighbour_allgather{file.neighbours.around});
    if (file.collective == collective::neighbour_alltoall)
        return prove(bough::goal::neighbour_alltoall{file.neighbours.around});
    return with_goal(file.collective, prove);
}

} // namespace cli
