// SPDX-License-Identifier: BSL-1.0
// Reading MSCCL's XML; without pugixml, saying so.
#include "msccl_file.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

#ifdef BOUGH_TOOL_HAS_PUGIXML
#include <pugixml.hpp>
#endif

namespace cli {

#ifdef BOUGH_TOOL_HAS_PUGIXML

namespace {

class msccl_reader {
public:
    msccl_reader(const std::string& text, bough::msccl_algorithm& made) : text_(text), made_(made) {
        for (std::size_t at = 0; at != text.size(); ++at)
            if (text[at] == '\n') ends_.push_back(at);
    }

    bough::import_fault run() {
        pugi::xml_document document;
        const pugi::xml_parse_result parsed = document.load_buffer(text_.data(), text_.size());
        if (!parsed) return {std::string("this is no XML: ") + parsed.description(), line_at(parsed.offset)};
        const pugi::xml_node algorithm = document.child("algo");
        if (!algorithm) return {"there is no element algo: this is no MSCCL XML", 1};
        std::string collective = text_of(algorithm, "coll");
        collective.erase(std::remove(collective.begin(), collective.end(), '_'), collective.end());
        for (std::uint8_t kind = 1; kind != 13; ++kind)
            if (!collective.empty() && bough::msccl_layout::name_of(kind) == collective) made_.kind = kind;
        if (made_.kind == 0 && fault_.none())
            refuse(algorithm, "coll is '" + text_of(algorithm, "coll") +
                                  "': only allreduce, allgather, reducescatter and alltoall can be proved");
        made_.size = number(algorithm, "ngpus", 1, 1 << 14);
        made_.chunks = number(algorithm, "nchunksperloop", 1, 1 << 20);
        made_.in_place = optional(algorithm, "inplace", 0) != 0;
        made_.out_of_place = optional(algorithm, "outofplace", 1) != 0;
        made_.gpus.resize(made_.size);
        std::vector<char> seen(made_.size, 0);
        for (const pugi::xml_node gpu : algorithm.children("gpu")) {
            if (!fault_.none()) return fault_;
            const std::uint32_t id = number(gpu, "id", 0, made_.size - std::uint64_t{1});
            if (!fault_.none()) return fault_;
            if (seen[id] != 0) refuse(gpu, "gpu " + std::to_string(id) + " stands here a second time");
            seen[id] = 1;
            read_gpu(gpu, id, made_.gpus[id]);
        }
        for (std::uint32_t id = 0; id != made_.size && fault_.none(); ++id)
            if (seen[id] == 0)
                refuse(algorithm, "there is no gpu " + std::to_string(id) + ", of " + std::to_string(made_.size));
        return fault_;
    }

private:
    void read_gpu(const pugi::xml_node& element, std::uint32_t id, bough::msccl_gpu& gpu) {
        gpu.id = id;
        gpu.line = line_of(element);
        gpu.input_chunks = number(element, "i_chunks", 0, 1 << 20);
        gpu.output_chunks = number(element, "o_chunks", 0, 1 << 20);
        gpu.scratch_chunks = number(element, "s_chunks", 0, 1 << 20);
        std::size_t count = 0;
        for (const pugi::xml_node tb : element.children("tb")) count += tb ? 1u : 0u;
        gpu.blocks.resize(count);
        for (const pugi::xml_node element_tb : element.children("tb")) {
            if (!fault_.none()) return;
            const std::uint32_t t = number(element_tb, "id", 0, count - 1);
            if (!fault_.none()) return;
            bough::msccl_block& tb = gpu.blocks[t];
            if (tb.line != 0)
                return refuse(element_tb, "thread block " + std::to_string(t) + " stands here a second time");
            tb.line = line_of(element_tb);
            tb.send = signed_number(element_tb, "send");
            tb.receive = signed_number(element_tb, "recv");
            tb.channel = number(element_tb, "chan", 0, 1 << 16);
            for (const pugi::xml_node step : element_tb.children("step")) {
                if (!fault_.none()) return;
                if (number(step, "s", 0, 1 << 20) != tb.steps.size() && fault_.none())
                    return refuse(step, "the steps of a thread block are numbered 0, 1, 2, ...");
                read_step(step, tb.steps.emplace_back());
            }
        }
    }
    void read_step(const pugi::xml_node& element, bough::msccl_step& s) {
        s.line = line_of(element);
        const std::string type = text_of(element, "type");
        bool known = false;
        for (std::uint8_t v = 0; v != 9; ++v)
            if (bough::msccl_verb_name(static_cast<bough::msccl_verb>(v)) == type) {
                s.what = static_cast<bough::msccl_verb>(v);
                known = true;
            }
        if (!known) return refuse(element, "there is no type '" + type + "'");
        s.source = {buffer(element, "srcbuf"), signed_number(element, "srcoff")};
        s.target = {buffer(element, "dstbuf"), signed_number(element, "dstoff")};
        s.count = number(element, "cnt", 0, 1 << 20);
        s.dep_block = signed_number(element, "depid");
        s.dep_step = signed_number(element, "deps");
        s.has_dep = number(element, "hasdep", 0, 1) != 0;
    }

    // --- attributes ---

    void refuse(const pugi::xml_node& element, const std::string& sentence) {
        if (fault_.none()) fault_ = {sentence, line_of(element)};
    }
    std::string text_of(const pugi::xml_node& element, const char* name) {
        const pugi::xml_attribute found = element.attribute(name);
        if (!found) refuse(element, std::string("the attribute ") + name + " is missing");
        return found.value();
    }
    std::int64_t signed_number(const pugi::xml_node& element, const char* name) {
        const std::string text = text_of(element, name);
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc{} || end != text.data() + text.size() || value < -1 || value > 1 << 30) {
            refuse(element, std::string(name) + " is no number from -1 on: '" + text + "'");
            return -1;
        }
        return value;
    }
    std::uint32_t number(const pugi::xml_node& element, const char* name, std::uint64_t least, std::uint64_t most) {
        const std::int64_t value = signed_number(element, name);
        if (value < 0 || static_cast<std::uint64_t>(value) < least || static_cast<std::uint64_t>(value) > most) {
            refuse(element,
                   std::string(name) + " is not from " + std::to_string(least) + " to " + std::to_string(most));
            return static_cast<std::uint32_t>(least);
        }
        return static_cast<std::uint32_t>(value);
    }
    std::uint32_t optional(const pugi::xml_node& element, const char* name, std::uint32_t otherwise) {
        return element.attribute(name) ? number(element, name, 0, 1) : otherwise;
    }
    char buffer(const pugi::xml_node& element, const char* name) {
        const std::string text = text_of(element, name);
        if (text == "i" || text == "o" || text == "s") return text.front();
        refuse(element, std::string(name) + " is neither i nor o nor s: '" + text + "'");
        return 'i';
    }
    std::size_t line_of(const pugi::xml_node& element) const { return line_at(element.offset_debug()); }
    std::size_t line_at(std::ptrdiff_t offset) const {
        const auto at = static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0));
        return static_cast<std::size_t>(std::lower_bound(ends_.begin(), ends_.end(), at) - ends_.begin()) + 1;
    }

    const std::string& text_;
    bough::msccl_algorithm& made_;
    std::vector<std::size_t> ends_;
    bough::import_fault fault_;
};

} // namespace

bough::import_fault read_msccl(const std::string& text, bough::msccl_algorithm& read) {
    return msccl_reader(text, read).run();
}

#else

bough::import_fault read_msccl(const std::string&, bough::msccl_algorithm&) {
    return {"this program was built without pugixml (Debian package libpugixml-dev), so it reads no XML"};
}

#endif

} // namespace cli
