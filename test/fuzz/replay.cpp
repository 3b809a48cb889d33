// SPDX-License-Identifier: BSL-1.0
// Runs a fuzzer over the files of a corpus, over each of them cut short and with flipped bits, and over no bytes at all.
//
//   fuzz-frame-replay DIRECTORY
#include "fuzz/fuzz.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    std::size_t files = 0, inputs = 1;
    fuzz_one({});
    for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
        std::ifstream in(entry.path(), std::ios::binary);
        const std::vector<char> text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
        std::vector<char> bytes = text;
        fuzz_one(std::as_bytes(std::span(bytes)));
        for (std::size_t cut = 0; cut < bytes.size(); cut += 1 + cut / 16, ++inputs)
            fuzz_one(std::as_bytes(std::span(bytes).first(cut)));
        for (std::size_t bit = 0; bit < 8 * bytes.size(); bit += 1 + bit / 64, ++inputs) {
            bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
            fuzz_one(std::as_bytes(std::span(bytes)));
            bytes = text;
        }
        ++files;
    }
    std::printf("%zu files, %zu inputs\n", files, inputs);
    return files != 0 ? 0 : 1;
}
