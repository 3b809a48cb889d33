// SPDX-License-Identifier: BSL-1.0
// The arguments of a benchmark program: numbers in their ranges, words out of a few. Anything else
// ends the program with a sentence that names the argument, and with 2; --help with the usage.
//
//   const arguments::list given(argc, argv, 2, "bench-fusion [rounds [ranks]]");
//   const int rounds = given.number<int>(1, "rounds", 1, 1'000'000, 101);    // 101, if there is none
#ifndef BOUGH_BENCHMARK_ARGUMENTS_HPP
#define BOUGH_BENCHMARK_ARGUMENTS_HPP

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>
#include <system_error>

namespace arguments {

class list {
public:
    // `most`: how many there may be.
    list(int count, char** given, int most, const char* usage) : count_(count), given_(given), usage_(usage) {
        for (int i = 1; i < count; ++i)
            if (std::string_view(given[i]) == "--help") {
                std::printf("usage: %s\n", usage);
                std::exit(0);
            }
        if (count - 1 > most) refuse(most + 1, "is one too many");
    }

    bool has(int i) const { return i < count_; }
    // Number i, of 1 and up.
    template <class N>
    N number(int i, const char* name, N least, N most, N otherwise) const {
        if (!has(i)) return otherwise;
        const std::string_view text = given_[i];
        N value{};
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most)
            refuse(i, std::string(name) + " must be a number from " + std::to_string(least) + " to " +
                          std::to_string(most));
        return value;
    }
    std::string_view word(int i, const char* name, std::initializer_list<std::string_view> allowed,
                          std::string_view otherwise = {}) const {
        if (!has(i)) return otherwise;
        const std::string_view text = given_[i];
        if (std::find(allowed.begin(), allowed.end(), text) != allowed.end()) return text;
        std::string all;
        for (const std::string_view one : allowed) all += (all.empty() ? "" : " or ") + std::string(one);
        refuse(i, std::string(name) + " must be " + all);
    }
    // Anything but an option.
    std::string text(int i, const char* name, const char* otherwise = "") const {
        if (!has(i)) return otherwise;
        if (given_[i][0] == '-' || given_[i][0] == '\0') refuse(i, std::string(name) + " must be a name");
        return given_[i];
    }
    [[noreturn]] void refuse(int i, const std::string& why) const {
        std::fprintf(stderr, "argument %d, \"%s\": %s\nusage: %s\n", i, has(i) ? given_[i] : "", why.c_str(), usage_);
        std::exit(2);
    }

private:
    int count_;
    char** given_;
    const char* usage_;
};

} // namespace arguments

#endif
