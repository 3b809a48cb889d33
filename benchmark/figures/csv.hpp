// SPDX-License-Identifier: BSL-1.0
// A table of comma-separated values, as the figures in doc/papers are drawn from.
#ifndef BOUGH_BENCHMARK_FIGURES_CSV_HPP
#define BOUGH_BENCHMARK_FIGURES_CSV_HPP

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <type_traits>

namespace figures {

// DIRECTORY/NAME.csv; the first line names the columns. Numbers have seven digits.
class csv {
public:
    csv(const std::string& directory, const std::string& name, const std::string& columns)
        : path_(directory + "/" + name + ".csv"), out_(path_) {
        out_ << columns << '\n';
    }
    csv(const csv&) = delete;
    csv& operator=(const csv&) = delete;
    ~csv() {
        out_.flush();
        if (out_) return;
        std::fprintf(stderr, "cannot write %s\n", path_.c_str());
        std::_Exit(1);
    }

    template <class... Values>
    void row(const Values&... values) {
        std::string line;
        (add(line, values), ...);
        out_ << line << '\n';
    }

private:
    template <class T>
    static void add(std::string& line, const T& value) {
        if (!line.empty()) line += ',';
        if constexpr (std::is_floating_point_v<T>) {
            char text[32];
            std::snprintf(text, sizeof text, "%.7g", value);
            line += text;
        } else if constexpr (std::is_arithmetic_v<T>)
            line += std::to_string(value);
        else
            line += value;
    }

    std::string path_;
    std::ofstream out_;
};

// The program's only argument: the directory for its tables, which must exist.
inline std::string directory(int count, char** arguments) {
    if (count == 2 && arguments[1][0] != '-') return arguments[1];
    std::fprintf(stderr, "usage: %s DIRECTORY\n", arguments[0]);
    std::exit(2);
}

// What two ways of computing must agree on.
inline void expect(bool agrees, const char* what) {
    if (agrees) return;
    std::fprintf(stderr, "figures: two ways disagree: %s\n", what);
    std::exit(1);
}
inline bool near(double a, double b) {
    const double gap = a < b ? b - a : a - b;
    return gap <= 1e-9 * (a < 0 ? -a : a) + 1e-9;
}

} // namespace figures

#endif
