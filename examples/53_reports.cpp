// SPDX-License-Identifier: BSL-1.0
// Reports: at three in the morning a job hangs. Each rank has recorded what it did in a file; merged, they say who is missed.
#include <bough/allreduce.hpp>
#include <bough/broadcast.hpp>
#include <bough/launch.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/report.hpp>
#include <bough/report/recording_file.hpp>
#include <bough/transport/shared_memory.hpp>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <thread>

namespace {

std::string file_of(bough::rank_t rank) {
    return (std::filesystem::temp_directory_path() / ("bough_example_52." + std::to_string(rank))).string();
}

int rank_of_job(bough::job job) {
    const bough::rank_t me = job.rank();
    bough::communicator comm{bough::shared_memory{job},
                             {.timeout_ns = 500'000'000, .report = {.file = bough::recording_file(file_of(me))}}};
    double x = 1;
    bough::broadcast(comm, std::span(&x, 1), bough::root{0});
    if (me == 2) { // it does something else, or is in a loop, or stopped
        std::this_thread::sleep_for(std::chrono::milliseconds(1500));
        return 0;
    }
    bough::status why;
    bough::allreduce(comm, std::span(&x, 1), bough::plus{}, why);
    return why ? 1 : 0;
}

std::string read(const std::string& name) {
    std::ifstream in(name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

} // namespace

int main() {
    (void)bough::launch(4, rank_of_job);
    bough::merged_reports all; // what `bough doctor FILE...` does
    for (bough::rank_t r = 0; r != 4; ++r) {
        const std::string bytes = read(file_of(r));
        std::string fault;
        if (!all.add(std::as_bytes(std::span(bytes.data(), bytes.size())), file_of(r), fault))
            std::printf("%s\n", fault.c_str());
        std::filesystem::remove(file_of(r));
    }
    const bough::diagnosis found = all.find();
    // rank 2 has not called allreduce #2 of 8 bytes; its last call was broadcast #1 of 8 bytes, 1.5 s ago; 3 ranks wait for it
    std::printf("%s\n", found.sentence.substr(0, found.sentence.find(';')).c_str());
    return found.what == bough::diagnosis::cause::not_called ? 0 : 1;
}
