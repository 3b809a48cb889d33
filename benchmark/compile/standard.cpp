// SPDX-License-Identifier: BSL-1.0
// What programs are compared with: a small one of the standard library's regex, map and iostream.
#include <iostream>
#include <map>
#include <regex>
#include <string>

int main() {
    const std::regex word("[a-z]+");
    std::map<std::string, int> counts;
    for (std::string line; std::getline(std::cin, line);)
        for (std::sregex_iterator it(line.begin(), line.end(), word), end; it != end; ++it) ++counts[it->str()];
    for (const auto& [text, count] : counts) std::cout << text << ' ' << count << '\n';
}
