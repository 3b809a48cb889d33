// SPDX-License-Identifier: BSL-1.0
// Networks as text files, for people and programs that write them.
//
//   std::string text = write_network(network::torus({8, 8}, 50, 200));
//   network_file file = read_network(text);          file.fault: the first line that is wrong; else *file.network
//
//   # a comment                      two hosts and a switch
//   hosts 2                          first: vertices 0 to hosts - 1
//   switches 1                       vertices hosts to hosts + switches - 1; none if there is no such line
//   hop 50                           ns that each link of a path adds; 0 if there is no such line
//   cable 0 2 12.5                   between two vertices, in bytes per ns each way
//   cable 1 2 12.5
//   grid 2 1                         the extents of a torus or a mesh, whose hosts are numbered as
//                                    network::torus numbers them; torus 2 1 says the same
//   place 1 0                        the host of rank 0, of rank 1, ...; rank r on host r if there is
//                                    no such line
// Words are separated by blanks. Speeds and times are written so that reading gives the same doubles.
// A file of more than most_network_vertices vertices or most_network_cables cables is refused, and
// so is a network in which a host has no way to another.
#ifndef BOUGH_INTERCHANGE_NETWORK_HPP
#define BOUGH_INTERCHANGE_NETWORK_HPP

#include <bough/interchange/import_result.hpp>
#include <bough/simulate/network.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <locale>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

inline constexpr std::uint32_t most_network_hosts = 4096; // the paths to each are kept
inline constexpr std::uint32_t most_network_vertices = 1u << 16;
inline constexpr std::size_t most_network_cables = std::size_t{1} << 20;

struct network_file {
    std::optional<bough::network> network{}; // if there is no fault
    import_fault fault{};
};

namespace detail {

inline std::string shortest_text(double value) {
    char text[32];
    const auto [end, error] = std::to_chars(text, text + sizeof text, value);
    return {text, error == std::errc{} ? end : text};
}

template <int>
class basic_network_reader {
public:
    explicit basic_network_reader(std::string_view text) : text_(text) {}

    network_file run() {
        while (file_.fault.none() && next_line()) {
            const std::string_view what = word();
            if (what.empty()) continue;
            if (what == "hosts")
                count(hosts_, 1, most_network_hosts, "hosts");
            else if (what == "switches")
                count(switches_, 0, most_network_vertices - most_network_hosts, "switches");
            else if (what == "hop")
                hop();
            else if (what == "cable")
                cable();
            else if (what == "grid" || what == "torus")
                list(extents_, extents_line_, "grid", "extents, as 'grid 8 8'");
            else if (what == "place")
                list(placement_, place_line_, "place", "the host of each rank, as 'place 1 0'");
            else
                return fail("there is no '" + std::string(what) +
                            "'; known are hosts, switches, hop, cable, grid, place");
            if (file_.fault.none() && !word().empty()) fail(std::string(what) + ": there is more in the line");
        }
        if (!file_.fault.none()) return std::move(file_);
        line_ = 0;
        if (hosts_ == unknown) return fail("hosts: the file does not say how many");
        return build();
    }

private:
    static constexpr std::uint32_t unknown = 0xffff'ffffu;
    struct cable_line {
        std::uint32_t a, b;
        double bytes_per_ns;
        std::size_t line;
    };

    bool next_line() {
        if (text_.empty()) return false;
        const std::size_t end = std::min(text_.find('\n'), text_.size());
        rest_ = text_.substr(0, end);
        text_.remove_prefix(end == text_.size() ? end : end + 1);
        rest_ = rest_.substr(0, std::min(rest_.find('#'), rest_.size()));
        ++line_;
        return true;
    }
    std::string_view word() {
        constexpr std::string_view blanks = " \t\r";
        rest_.remove_prefix(std::min(rest_.find_first_not_of(blanks), rest_.size()));
        const std::string_view found = rest_.substr(0, std::min(rest_.find_first_of(blanks), rest_.size()));
        rest_.remove_prefix(found.size());
        return found;
    }
    static bool parse(std::string_view text, std::uint32_t& value) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        return error == std::errc{} && end == text.data() + text.size();
    }
    static bool parse(std::string_view text, double& value) { // older libc++ has no from_chars of double
        std::istringstream in{std::string(text)};
        in.imbue(std::locale::classic());
        return (in >> std::noskipws >> value) && in.peek() == std::istringstream::traits_type::eof();
    }
    void count(std::uint32_t& value, std::uint32_t least, std::uint32_t most, const char* what) {
        if (value != unknown) return void(fail(std::string(what) + ": said twice"));
        std::uint32_t found = 0;
        if (!parse(word(), found) || found < least || found > most)
            return void(fail(std::string(what) + ": needs a number from " + std::to_string(least) + " to " +
                             std::to_string(most)));
        value = found;
    }
    void hop() {
        double found = 0;
        if (!parse(word(), found) || !(found >= 0 && found < std::numeric_limits<double>::infinity()))
            return void(fail("hop: needs a time in ns that is finite and not negative"));
        hop_ns_ = found;
    }
    void cable() {
        cable_line c{0, 0, 0, line_};
        if (!parse(word(), c.a) || !parse(word(), c.b))
            return void(fail("cable: needs two vertices and a speed, as 'cable 0 4 12.5'"));
        const std::string_view speed = word();
        if (!parse(speed, c.bytes_per_ns) || !network::is_speed(c.bytes_per_ns))
            return void(fail("cable: needs a speed from 1e-30 to 1e30 bytes per ns, not '" + std::string(speed) + "'"));
        if (cables_.size() == most_network_cables)
            return void(fail("cable: more than " + std::to_string(most_network_cables)));
        cables_.push_back(c);
    }
    void list(std::vector<std::uint32_t>& values, std::size_t& line, const char* what, const char* form) {
        if (!values.empty()) return void(fail(std::string(what) + ": said twice"));
        line = line_;
        for (std::string_view one = word(); !one.empty(); one = word()) {
            values.push_back(0);
            if (!parse(one, values.back())) return void(fail(std::string(what) + ": needs " + form));
        }
        if (values.empty()) fail(std::string(what) + ": needs " + form);
    }
    network_file build() {
        const std::uint32_t switches = switches_ == unknown ? 0 : switches_;
        network made(hosts_, switches);
        for (const cable_line& c : cables_) {
            line_ = c.line;
            if (c.a >= hosts_ + switches || c.b >= hosts_ + switches)
                return fail("cable: there is no vertex " + std::to_string(c.a >= hosts_ + switches ? c.a : c.b) +
                            "; the last is " + std::to_string(hosts_ + switches - 1));
            if (c.a == c.b) return fail("cable: joins a vertex to itself");
            made.join(c.a, c.b, c.bytes_per_ns);
        }
        for (const std::uint32_t host : placement_)
            if (host >= hosts_) {
                line_ = place_line_;
                return fail("place: there is no host " + std::to_string(host) + "; the last is " +
                            std::to_string(hosts_ - 1));
            }
        line_ = 0;
        made.hop_ns = hop_ns_;
        made.route();
        if (const status bad = made.check(hosts_)) return fail(bad.argument);
        made.extents = std::move(extents_);
        line_ = extents_line_;
        if (const status bad = made.check(hosts_)) return fail(std::string("grid: ") + bad.argument);
        made.placement = std::move(placement_);
        file_.network = std::move(made);
        return std::move(file_);
    }
    network_file fail(std::string sentence) {
        file_.fault = {std::move(sentence), line_};
        return file_;
    }

    std::string_view text_, rest_;
    std::size_t line_ = 0, place_line_ = 0, extents_line_ = 0;
    std::uint32_t hosts_ = unknown, switches_ = unknown;
    double hop_ns_ = 0;
    std::vector<cable_line> cables_;
    std::vector<std::uint32_t> placement_, extents_;
    network_file file_;
};
using network_reader = basic_network_reader<0>;

} // namespace detail

// The text of a network; read_network gives an equal one.
template <int = 0>
std::string write_network(const network& n) {
    std::string text = "hosts " + std::to_string(n.hosts()) + "\nswitches " + std::to_string(n.switches()) + '\n';
    if (n.hop_ns != 0) text += "hop " + detail::shortest_text(n.hop_ns) + '\n';
    for (std::size_t l = 0; l < n.links().size(); l += 2) { // each cable is two links
        const network::link& c = n.links()[l];
        text += "cable " + std::to_string(c.from) + ' ' + std::to_string(c.to) + ' ' +
                detail::shortest_text(c.bytes_per_ns) + '\n';
    }
    const auto list = [&](const char* what, const std::vector<std::uint32_t>& values) {
        if (values.empty()) return;
        text += what;
        for (const std::uint32_t value : values) text += ' ' + std::to_string(value);
        text += '\n';
    };
    list("grid", n.extents);
    list("place", n.placement);
    return text;
}

template <int = 0>
network_file read_network(std::string_view text) {
    return detail::network_reader(text).run();
}

} // namespace bough

#endif
