// SPDX-License-Identifier: BSL-1.0
// Reading hwloc's XML; without pugixml, saying so.
#include "hwloc_file.hpp"

#ifdef BOUGH_TOOL_HAS_PUGIXML
#include <pugixml.hpp>
#include <string_view>
#include <vector>
#endif

namespace cli {

#ifdef BOUGH_TOOL_HAS_PUGIXML

namespace {

// Counts the cores of each package of a machine. hwloc 1 says Socket where later ones say Package.
class package_walker final : public pugi::xml_tree_walker {
public:
    bool for_each(pugi::xml_node& node) override {
        const std::string_view type = node.attribute("type").value();
        if (std::string_view(node.name()) != "object") return true;
        if (type == "Package" || type == "Socket") cores.push_back(0);
        if (type == "Core" && !cores.empty()) ++cores.back();
        return true;
    }
    std::vector<std::uint32_t> cores; // objects come in the order of the document
};

} // namespace

bough::import_fault read_hwloc(const std::string& text, machine_shape& read) {
    pugi::xml_document document;
    const pugi::xml_parse_result parsed = document.load_buffer(text.data(), text.size());
    if (!parsed) return {std::string("this is no XML: ") + parsed.description(), 0};
    if (!document.child("topology")) return {"there is no element topology: 'lstopo --of xml' writes one", 0};
    package_walker found;
    document.traverse(found);
    if (found.cores.empty()) return {"the machine has no package", 0};
    if (found.cores.front() == 0) return {"a package has no cores", 0};
    for (const std::uint32_t cores : found.cores)
        if (cores != found.cores.front())
            return {"a package has " + std::to_string(cores) + " cores, and another one " +
                        std::to_string(found.cores.front()),
                    0};
    read = {static_cast<std::uint32_t>(found.cores.size()), found.cores.front()};
    return {};
}

#else

bough::import_fault read_hwloc(const std::string&, machine_shape&) {
    return {"this program was built without pugixml (Debian package libpugixml-dev), so it reads no XML"};
}

#endif

} // namespace cli
