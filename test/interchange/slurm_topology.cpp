// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/interchange/slurm_topology.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using bough::network;
using bough::read_slurm_topology;

namespace {

std::vector<std::string> nodes_of(const std::string& list) {
    return read_slurm_topology("SwitchName=s Nodes=" + list, 1, 1).nodes;
}
std::string fault_of_topology(const std::string& text) {
    const bough::slurm_topology read = read_slurm_topology(text, 1, 1);
    CHECK(read.network.has_value() == read.fault.none());
    CHECK(read.nodes.empty() != read.fault.none());
    return to_string(read.fault);
}
using names = std::vector<std::string>;

} // namespace

TEST_CASE("slurm topology: the switches and nodes of a tree are joined") {
    const bough::slurm_topology read = read_slurm_topology("# four nodes\n"
                                                           "SwitchName=top Switches=leaf[1-2] LinkSpeed=900\n"
                                                           "\n"
                                                           "SwitchName=leaf1 Nodes=tux[0-1]  # the first\r\n"
                                                           "switchname=leaf2 \\\n"
                                                           "  nodes=tux[2-3]",
                                                           12.5, 100);
    CHECK(to_string(read.fault).empty());
    CHECK(read.nodes == names{"tux0", "tux1", "tux2", "tux3"});
    REQUIRE(read.network.has_value());
    // Switches are numbered as they stand in the file: the top one is vertex 4.
    network same(4, 3);
    same.join(5, 4, 100), same.join(6, 4, 100);
    for (const auto& [host, leaf] : {std::pair{0u, 5u}, std::pair{1u, 5u}, std::pair{2u, 6u}, std::pair{3u, 6u}})
        same.join(host, leaf, 12.5);
    same.route();
    CHECK(*read.network == same);
    std::vector<std::uint32_t> links;
    REQUIRE(read.network->path(0, 1, links));
    CHECK(links.size() == 2);
    links.clear();
    REQUIRE(read.network->path(0, 3, links));
    CHECK(links.size() == 4);
}

TEST_CASE("slurm topology: lists of names") {
    CHECK(nodes_of("a") == names{"a"});
    CHECK(nodes_of("a,b7,c") == names{"a", "b7", "c"});
    CHECK(nodes_of("tux[0-2,7]") == names{"tux0", "tux1", "tux2", "tux7"});
    CHECK(nodes_of("tux[08-10]") == names{"tux08", "tux09", "tux10"});
    CHECK(nodes_of("r[1-2]n[0-1]x,y") == names{"r1n0x", "r1n1x", "r2n0x", "r2n1x", "y"});
    CHECK(nodes_of("tux[3]-ib") == names{"tux3-ib"});
    CHECK(nodes_of("n[0-4095]").size() == 4096);
    for (const char* wrong :
         {"", ",", "a,", "a,,b", "tux[", "tux]", "tux[]", "tux[1", "tux[1-]", "tux[-1]", "tux[2-1]", "tux[a]",
          "tux[1,,2]", "tux[1,]", "tux[[1]]", "tux[1]]", "n[0-4096]", "n[0-4000000000]", "a[1-64]b[1-65]"}) {
        CAPTURE(wrong);
        CHECK(fault_of_topology(std::string("SwitchName=s Nodes=") + wrong) ==
              std::string("line 1: Nodes: '") + wrong + "' is no list of at most 4096 names in all, as tux[0-2,7]");
    }
}

TEST_CASE("slurm topology: a short file does not take much memory or stack") {
    const std::string longest(255, 'a');
    CHECK(nodes_of(longest) == names{longest});
    CHECK(nodes_of(longest.substr(1) + "[1]") == names{longest.substr(1) + "1"});
    std::string lists = "a";
    for (int i = 0; i != 300'000; ++i) lists += "[1]";
    for (const std::string& wrong : {longest + "a", longest + "[1]", "[10]" + longest.substr(1), lists})
        CHECK(fault_of_topology("SwitchName=s Nodes=" + wrong).ends_with("as tux[0-2,7]"));
    std::string all_to_all;
    for (int s = 0; s != 40; ++s)
        all_to_all += "SwitchName=s" + std::to_string(s) + " Nodes=a" + std::to_string(s) + " Switches=t[0-65534]\n";
    CHECK(fault_of_topology(all_to_all) == "line 17: more than 1048576 cables");
}

TEST_CASE("slurm topology: what is wrong is said, with its line") {
    CHECK(fault_of_topology("") == "there is no line with a SwitchName");
    CHECK(fault_of_topology("# nothing\n\n") == "there is no line with a SwitchName");
    CHECK(fault_of_topology("\nNodes=a") == "line 2: there is no SwitchName");
    CHECK(fault_of_topology("SwitchName= Nodes=a") ==
          "line 1: needs SwitchName=, Nodes= and Switches=, not 'SwitchName='");
    CHECK(fault_of_topology("SwitchName=s") == "line 1: switch s has neither Nodes nor Switches");
    CHECK(fault_of_topology("SwitchName=s Hosts=a") ==
          "line 1: needs SwitchName=, Nodes= and Switches=, not 'Hosts=a'");
    CHECK(fault_of_topology("SwitchName=s Switches=a[") ==
          "line 1: needs SwitchName=, Nodes= and Switches=, not 'Switches=a['");
    CHECK(fault_of_topology("SwitchName=s Nodes=a\nSwitchName=s Nodes=b") == "line 2: switch s has a line already");
    CHECK(fault_of_topology("SwitchName=s Nodes=a\nSwitchName=t Nodes=b,a") ==
          "line 2: node a stands below a switch already");
    CHECK(fault_of_topology("SwitchName=s \\\n Nodes=a \\\n Switches=t") == "line 1: Switches: there is no switch t");
    CHECK(fault_of_topology("SwitchName=s Nodes=a Switches=s") == "line 1: Switches: s is below itself");
    CHECK(fault_of_topology("SwitchName=s Switches=t\nSwitchName=t Switches=s") == "no switch has Nodes");
    CHECK(fault_of_topology("SwitchName=s Nodes=a\nSwitchName=t Nodes=b") ==
          "network: not connected: there is no way between two hosts with ranks");
    CHECK(fault_of_topology("BlockName=b1 Nodes=a[0-3]") ==
          "line 1: this is a topology of blocks; only that of topology/tree is read");
}
