// SPDX-License-Identifier: BSL-1.0
// Reading a file of numbers; naming the line of one that is none.
#include "numbers.hpp"

#include "parse.hpp"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace cli {

number_file read_numbers(const std::string& path) {
    number_file file{path, {}};
    const std::string argument = "file '" + path + "'";
    std::error_code unused;
    std::ifstream in(path);
    if (!in || std::filesystem::is_directory(path, unused)) throw usage_error(argument, "cannot be opened");
    std::size_t number = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        std::istringstream words(line.substr(0, line.find('#')));
        for (std::string word; words >> word;) {
            double value = 0;
            const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
            if (error != std::errc{} || end != word.data() + word.size() || !std::isfinite(value))
                throw usage_error(argument,
                                  "line " + std::to_string(number) + ": '" + word.substr(0, 40) + "' is not a number");
            file.numbers.push_back(value);
        }
    }
    if (in.bad()) throw usage_error(argument, "cannot be read");
    if (file.numbers.empty()) throw usage_error(argument, "holds no numbers");
    return file;
}

std::string find_example(const std::string& name) {
    namespace fs = std::filesystem;
    const fs::path wanted = fs::path("examples") / "data" / name;
    std::error_code error;
    for (const fs::path& start : {fs::current_path(error), fs::read_symlink("/proc/self/exe", error).parent_path()})
        for (fs::path folder = start; !folder.empty(); folder = folder.parent_path()) {
            if (fs::exists(folder / wanted, error)) return fs::proximate(folder / wanted, error).string();
            if (folder == folder.root_path()) break;
        }
    throw usage_error("FILE", wanted.string() + " is not here: give a file with numbers of your own");
}

} // namespace cli
