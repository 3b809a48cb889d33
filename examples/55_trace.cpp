// SPDX-License-Identifier: BSL-1.0
// A trace of one part of a program: what each rank did in it, beside what it should have taken, for ui.perfetto.dev.
#include <bough/allreduce.hpp>
#include <bough/interchange/run_trace.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/report/trace_file.hpp>
#include <bough/transport/in_process.hpp>

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

std::string file_of(bough::rank_t rank) {
    return (std::filesystem::temp_directory_path() / ("bough_example_55." + std::to_string(rank) + ".trace")).string();
}

} // namespace

int main() {
    bough::in_process{3}.run([](auto link) {
        const auto trace = bough::trace_file(file_of(link.rank()));
        bough::communicator comm{std::move(link), {.report = {.trace = trace}}};
        std::vector<double> x(1000, 1);
        trace->pause();
        for (int i = 0; i != 100; ++i) bough::allreduce(comm, std::span(x), bough::plus{}); // it warms up
        trace->resume();
        for (int i = 0; i != 5; ++i) bough::allreduce(comm, std::span(x), bough::plus{});
        trace->pause();
    });

    bough::merged_traces all; // what `bough trace FILE... --out run.json` does
    for (bough::rank_t r = 0; r != 3; ++r) {
        std::ifstream in(file_of(r), std::ios::binary);
        const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
        std::string fault;
        if (!all.add(std::as_bytes(std::span(bytes.data(), bytes.size())), file_of(r), fault))
            std::printf("%s\n", fault.c_str());
        std::filesystem::remove(file_of(r));
    }
    const bough::trace_figures f = all.figures();
    // 3 ranks made 15 calls; 15 of them have a prediction beside them, 0 are in flight
    std::printf("%d ranks made %d calls; %d of them have a prediction beside them, %d are in flight\n",
                static_cast<int>(f.ranks), static_cast<int>(f.calls), static_cast<int>(f.predicted),
                static_cast<int>(f.in_flight));
    std::ostringstream json;
    all.write(json); // for ui.perfetto.dev
    return json.str().find("\"allreduce #105\"") == std::string::npos;
}
