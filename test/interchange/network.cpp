// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/interchange/network.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using bough::network;
using bough::read_network;
using bough::write_network;

namespace {

std::string fault_of_network(const std::string& text) {
    const bough::network_file file = read_network(text);
    CHECK(file.network.has_value() == file.fault.none());
    return to_string(file.fault);
}

} // namespace

TEST_CASE("network files: what is written is read again") {
    network odd = network::irregular(20, 6, 8, 50, 3, 1.0 / 3);
    odd.hop_ns = 0.1;
    odd.placement = {3, 1, 19, 0};
    for (const network& n :
         {odd, network::crossbar(1, 1e-9), network::torus({2, 3, 4}, 50, 300), network::mesh({5, 1, 2}, 2),
          network::fat_tree(4, 3, 1.5), network::fat_tree({3, 2, 2}, {1, 2, 3}, 12.5), network::rails(3, 4, 25, 300),
          network::sockets(3, 2, 4, 25, 40, 10), network::dragonfly(4, 2, 2, 1, 0.5)}) {
        const bough::network_file file = read_network(write_network(n));
        CAPTURE(write_network(n));
        CHECK(to_string(file.fault).empty());
        REQUIRE(file.network.has_value());
        CHECK(*file.network == n);
    }
}

TEST_CASE("network files: the extents of a mesh are written as those of a torus; older files call them torus") {
    const network mesh = network::mesh({3, 2}, 2);
    CHECK(mesh.extents == std::vector<std::uint32_t>{3, 2});
    std::string text = write_network(mesh);
    const std::size_t at = text.find("grid 3 2\n");
    REQUIRE(at != std::string::npos);
    text.replace(at, 4, "torus");
    const bough::network_file file = read_network(text);
    REQUIRE(file.network.has_value());
    CHECK(*file.network == mesh);
}

TEST_CASE("network files: comments, blanks and order do not matter") {
    const bough::network_file file = read_network(
        "# two hosts\n\n  cable 0\t2 12.5 # the first\r\nplace 1 0\nhop 5e1\nswitches 1\ncable 2 1 3\nhosts 2");
    REQUIRE(file.network.has_value());
    CHECK(file.network->hosts() == 2);
    CHECK(file.network->hop_ns == 50);
    CHECK(file.network->host_of(0) == 1);
    CHECK(file.network->links()[2] == network::link{2, 1, 3});
}

TEST_CASE("network files: what is wrong is said, with its line") {
    CHECK(fault_of_network("") == "hosts: the file does not say how many");
    CHECK(fault_of_network("switches 1\nhosts 0") == "line 2: hosts: needs a number from 1 to 4096");
    CHECK(fault_of_network("hosts 4097") == "line 1: hosts: needs a number from 1 to 4096");
    CHECK(fault_of_network("hosts 2\nhosts 2") == "line 2: hosts: said twice");
    CHECK(fault_of_network("hosts two") == "line 1: hosts: needs a number from 1 to 4096");
    CHECK(fault_of_network("hosts 2 3") == "line 1: hosts: there is more in the line");
    CHECK(fault_of_network("hosts 2\nwire 0 1 1") ==
          "line 2: there is no 'wire'; known are hosts, switches, hop, cable, grid, place");
    for (const char* speed : {"0", "-1", "inf", "nan", "", "fast", "1,5", "1.5x", "1e999", "1e", "1e302", "1e-300"})
        CHECK(fault_of_network(std::string("hosts 2\ncable 0 1 ") + speed) ==
              std::string("line 2: cable: needs a speed from 1e-30 to 1e30 bytes per ns, not '") + speed + "'");
    CHECK(fault_of_network("hosts 2\ncable 0") == "line 2: cable: needs two vertices and a speed, as 'cable 0 4 12.5'");
    CHECK(fault_of_network("hosts 2\n\ncable 0 2 1") == "line 3: cable: there is no vertex 2; the last is 1");
    CHECK(fault_of_network("hosts 2\ncable 1 1 1") == "line 2: cable: joins a vertex to itself");
    for (const char* hop : {"-1", "inf", "nan", "x"})
        CHECK(fault_of_network(std::string("hosts 1\nhop ") + hop) ==
              "line 2: hop: needs a time in ns that is finite and not negative");
    CHECK(fault_of_network("hosts 2\ncable 0 1 1\nplace 0 2") == "line 3: place: there is no host 2; the last is 1");
    CHECK(fault_of_network("hosts 1\nplace") == "line 2: place: needs the host of each rank, as 'place 1 0'");
    CHECK(fault_of_network("hosts 1\nplace x") == "line 2: place: needs the host of each rank, as 'place 1 0'");
    CHECK(fault_of_network("hosts 1\ngrid 2 3") == "line 2: grid: extents: their product is not the number of hosts");
    CHECK(fault_of_network("hosts 1\ngrid 2 2 65536 65536 65536 65536 0") ==
          "line 2: grid: extents: their product is not the number of hosts");
    CHECK(fault_of_network("grid 2 2\ngrid 2 2") == "line 2: grid: said twice");
    CHECK(fault_of_network("torus 2 2\ngrid 2 2") == "line 2: grid: said twice");
    CHECK(fault_of_network("grid 2x2") == "line 1: grid: needs extents, as 'grid 8 8'");
    CHECK(fault_of_network("hosts 2") == "network: not connected: there is no way between two hosts with ranks");
    // A host forwards nothing, so it joins no others.
    for (const char* row : {"hosts 3\ncable 0 1 1\ncable 1 2 1", "hosts 3\ncable 0 1 1\ncable 0 2 1"})
        CHECK(fault_of_network(row) == "network: not connected: there is no way between two hosts with ranks");
}
