// SPDX-License-Identifier: BSL-1.0
// Networks from Slurm's topology.conf, the file of its plugin topology/tree.
//
//   slurm_topology found = read_slurm_topology(text, 12.5, 100);
//                          found.fault: the first line that is wrong; else *found.network, and
//                          found.nodes[h] is the name of host h
//
//   # a comment                                two leaf switches with four nodes, and one above them
//   SwitchName=leaf1 Nodes=tux[0-2,7]
//   SwitchName=leaf2 Nodes=tux[08-11]          numbers keep their zeros: tux08, tux09, tux10, tux11
//   SwitchName=top Switches=leaf[1-2]
//
// The file says what is joined, and not how fast it is: its LinkSpeed means nothing to Slurm, and nothing
// here. So the speeds of cables are given, in bytes per ns each way: `node_speed` of those from a node to
// its switch, `switch_speed` of those between switches. Hosts are numbered as the file names the nodes,
// in its order, and rank r is on host r unless placement is set.
// Words are separated by blanks; a line whose last character is \ goes on in the next. Names of what
// stands left of = may be in small letters. A name has at most 255 characters. A file of more than
// most_network_hosts nodes or most_network_cables cables is refused, and so is one in which a node has
// no way to another, or stands below two switches.
// Source: topology.conf(5) of Slurm.
#ifndef BOUGH_INTERCHANGE_SLURM_TOPOLOGY_HPP
#define BOUGH_INTERCHANGE_SLURM_TOPOLOGY_HPP

#include <bough/core/contract.hpp>
#include <bough/interchange/import_result.hpp>
#include <bough/interchange/network.hpp>
#include <bough/simulate/network.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

struct slurm_topology {
    std::optional<bough::network> network{}; // if there is no fault
    std::vector<std::string> nodes{};        // by host: its name
    import_fault fault{};
};

namespace detail {

// The names of a list as "a,tux[0-2,07]-ib[1-2]", in order. False: it is none, or has more than `most`
// names, or too long a name.
class slurm_names {
public:
    static constexpr std::size_t longest = 255; // characters of a name; each list in brackets adds one or more

    slurm_names(std::vector<std::string>& names, std::size_t most) : names_(names), most_(most) {}

    bool add(std::string_view list) {
        std::size_t depth = 0, begin = 0;
        for (std::size_t i = 0; i <= list.size(); ++i) {
            const char c = i == list.size() ? ',' : list[i];
            if (c == '[' && depth++ != 0) return false;
            if (c == ']' && depth-- == 0) return false;
            if (c != ',' || (depth != 0 && i != list.size())) continue;
            if (depth != 0 || begin == i || !expand("", list.substr(begin, i - begin))) return false;
            begin = i + 1;
        }
        return true;
    }

private:
    // `before`: what stands left of the rest already.
    bool expand(const std::string& before, std::string_view rest) {
        const std::size_t open = rest.find('[');
        if (before.size() + std::min(open, rest.size()) > longest) return false;
        if (open == std::string_view::npos) {
            if (names_.size() == most_) return false;
            names_.push_back(before + std::string(rest));
            return true;
        }
        const std::size_t close = rest.find(']', open);
        const std::string head = before + std::string(rest.substr(0, open));
        std::string_view ranges = rest.substr(open + 1, close - open - 1);
        const std::string_view behind = rest.substr(close + 1);
        for (bool is_last = false; !is_last;) {
            const std::size_t end = std::min(ranges.find(','), ranges.size());
            const std::string_view one = ranges.substr(0, end);
            is_last = end == ranges.size();
            ranges.remove_prefix(is_last ? end : end + 1);
            const std::size_t dash = std::min(one.find('-'), one.size());
            const std::string_view low = one.substr(0, dash), high = dash == one.size() ? low : one.substr(dash + 1);
            std::uint32_t first = 0, last = 0;
            if (!number(low, first) || !number(high, last) || last < first || last - first >= most_) return false;
            for (std::uint32_t n = first; n <= last; ++n) {
                std::string digits = std::to_string(n);
                if (digits.size() < low.size()) digits.insert(0, low.size() - digits.size(), '0');
                if (!expand(head + digits, behind)) return false;
            }
        }
        return true;
    }
    static bool number(std::string_view text, std::uint32_t& value) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        return !text.empty() && text.size() <= 9 && error == std::errc{} && end == text.data() + text.size();
    }

    std::vector<std::string>& names_;
    std::size_t most_;
};

template <int>
class basic_slurm_reader {
public:
    basic_slurm_reader(std::string_view text, double node_speed, double switch_speed)
        : text_(text), node_speed_(node_speed), switch_speed_(switch_speed) {}

    slurm_topology run() {
        for (std::string line; made_.fault.none() && next_line(line);) read(line);
        if (!made_.fault.none()) return std::move(made_);
        line_ = 0;
        if (switches_.empty()) return fail("there is no line with a SwitchName");
        if (made_.nodes.empty()) return fail("no switch has Nodes");
        return build();
    }

private:
    struct switch_line {
        std::size_t line = 0;
        std::vector<std::uint32_t> hosts{};
        std::vector<std::string> below{};
    };

    // A line with those that go on in it, without comments.
    bool next_line(std::string& line) {
        line.clear();
        if (text_.empty()) return false;
        for (line_ = next_;;) {
            ++next_;
            const std::size_t end = std::min(text_.find('\n'), text_.size());
            std::string_view part = text_.substr(0, end);
            text_.remove_prefix(std::min(end + 1, text_.size()));
            part = part.substr(0, std::min(part.find('#'), part.size()));
            while (!part.empty() && is_blank(part.back())) part.remove_suffix(1);
            const bool goes_on = !part.empty() && part.back() == '\\';
            if (goes_on) part.remove_suffix(1);
            line.append(part).push_back(' ');
            if (!goes_on || text_.empty()) return true;
        }
    }
    static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
    static std::string small_letters(std::string_view text) {
        std::string made(text);
        for (char& c : made)
            if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        return made;
    }

    void read(std::string_view rest) {
        switch_line made{.line = line_};
        std::string name;
        bool is_empty = true;
        for (;;) {
            while (!rest.empty() && is_blank(rest.front())) rest.remove_prefix(1);
            if (rest.empty()) break;
            const std::size_t end =
                static_cast<std::size_t>(std::find_if(rest.begin(), rest.end(), is_blank) - rest.begin());
            const std::string_view word = rest.substr(0, end);
            rest.remove_prefix(end);
            const std::size_t equals = std::min(word.find('='), word.size());
            const std::string key = small_letters(word.substr(0, equals));
            const std::string_view value = word.substr(std::min(equals + 1, word.size()));
            is_empty = false;
            if (key == "switchname" && !value.empty())
                name = value;
            else if (key == "nodes")
                add_nodes(value, made);
            else if (key == "switches" && slurm_names(made.below, most_network_vertices).add(value))
                continue;
            else if (key == "blockname" || key == "blocksizes")
                fail("this is a topology of blocks; only that of topology/tree is read");
            else if (key != "linkspeed")
                fail("needs SwitchName=, Nodes= and Switches=, not '" + std::string(word) + "'");
            if (!made_.fault.none()) return;
        }
        if (is_empty) return;
        if (name.empty()) return void(fail("there is no SwitchName"));
        if (made.hosts.empty() && made.below.empty())
            return void(fail("switch " + name + " has neither Nodes nor Switches"));
        if (switches_.size() == most_network_vertices - most_network_hosts)
            return void(fail("more than " + std::to_string(switches_.size()) + " switches"));
        if ((cables_ += made.hosts.size() + made.below.size()) > most_network_cables)
            return void(fail("more than " + std::to_string(most_network_cables) + " cables"));
        order_.push_back(name);
        if (!switches_.emplace(name, std::move(made)).second) fail("switch " + name + " has a line already");
    }
    void add_nodes(std::string_view list, switch_line& to) {
        const std::size_t first = made_.nodes.size();
        if (!slurm_names(made_.nodes, most_network_hosts).add(list))
            return void(fail("Nodes: '" + std::string(list) + "' is no list of at most " +
                             std::to_string(most_network_hosts) + " names in all, as tux[0-2,7]"));
        for (std::size_t h = first; h != made_.nodes.size(); ++h) {
            if (!hosts_.emplace(made_.nodes[h], h).second)
                return void(fail("node " + made_.nodes[h] + " stands below a switch already"));
            to.hosts.push_back(static_cast<std::uint32_t>(h));
        }
    }

    slurm_topology build() {
        const auto hosts = static_cast<std::uint32_t>(made_.nodes.size());
        network all(hosts, static_cast<std::uint32_t>(switches_.size()));
        std::map<std::string_view, std::uint32_t> vertices;
        for (std::uint32_t s = 0; s != order_.size(); ++s) vertices.emplace(order_[s], hosts + s);
        for (const std::string& name : order_) {
            const switch_line& found = switches_.at(name);
            line_ = found.line;
            const std::uint32_t vertex = vertices.at(name);
            for (const std::uint32_t h : found.hosts) all.join(h, vertex, node_speed_);
            for (const std::string& below : found.below) {
                const auto other = vertices.find(below);
                if (other == vertices.end()) return fail("Switches: there is no switch " + below);
                if (other->second == vertex) return fail("Switches: " + below + " is below itself");
                all.join(other->second, vertex, switch_speed_);
            }
        }
        all.route();
        line_ = 0;
        if (const status bad = all.check(hosts)) return fail(bad.argument);
        made_.network = std::move(all);
        return std::move(made_);
    }
    slurm_topology fail(std::string sentence) {
        made_.nodes.clear();
        made_.fault = {std::move(sentence), line_};
        return made_;
    }

    std::string_view text_;
    double node_speed_, switch_speed_;
    std::size_t line_ = 0, next_ = 1, cables_ = 0;
    std::map<std::string, std::size_t> hosts_;
    std::map<std::string, switch_line> switches_;
    std::vector<std::string> order_; // of the switches, as in the file
    slurm_topology made_;
};
using slurm_reader = basic_slurm_reader<0>;

} // namespace detail

// Pre: network::is_speed() of both speeds.
template <int = 0>
slurm_topology read_slurm_topology(std::string_view text, double node_speed, double switch_speed) {
    BOUGH_EXPECTS(network::is_speed(node_speed), "node_speed: from 1e-30 to 1e30 bytes per ns");
    BOUGH_EXPECTS(network::is_speed(switch_speed), "switch_speed: from 1e-30 to 1e30 bytes per ns");
    return detail::slurm_reader(text, node_speed, switch_speed).run();
}

} // namespace bough

#endif
