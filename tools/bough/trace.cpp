// SPDX-License-Identifier: BSL-1.0
// bough trace: merges the traces of the processes of a job into a file for Perfetto.
#include "commands.hpp"
#include "parse.hpp"
#include "traces.hpp"
#include <bough/interchange/run_trace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace cli {

namespace {

// The files themselves, and those of folders, in the order of their names.
std::vector<std::string> files_in(const std::vector<std::string>& paths) {
    std::vector<std::string> found;
    for (const std::string& path : paths) {
        if (!std::filesystem::is_directory(path)) {
            found.push_back(path);
            continue;
        }
        const std::size_t before = found.size();
        for (const auto& entry : std::filesystem::directory_iterator(path))
            if (entry.path().extension() == ".trace") found.push_back(entry.path().string());
        if (found.size() == before) throw usage_error("FILE", "no file in '" + path + "' ends in .trace");
        std::sort(found.begin() + static_cast<std::ptrdiff_t>(before), found.end());
    }
    return found;
}

bough::merged_traces merge(const std::vector<std::string>& files) {
    bough::merged_traces all;
    std::vector<std::string> faults;
    for (const std::string& path : files) {
        const std::string bytes = bytes_in(path);
        std::string fault;
        if (!all.add(std::as_bytes(std::span(bytes.data(), bytes.size())), "'" + path + "'", fault))
            faults.push_back(fault);
    }
    if (all.empty()) throw usage_error("FILE", faults.front());
    for (const std::string& fault : faults) std::cerr << "bough: FILE: " << fault << '\n';
    return all;
}

void write(const bough::merged_traces& all, std::ostream& out, const std::string& name) {
    for (const std::string& note : all.notes()) std::cerr << "bough: " << note << '\n';
    all.write(out);
    out.flush();
    if (!out) throw std::runtime_error("'" + name + "' cannot be written whole");
}

std::ofstream open(const std::string& file, const char* argument) {
    std::ofstream out(file, std::ios::binary);
    if (!out) throw usage_error(argument, "'" + file + "' cannot be written");
    return out;
}

std::string counted(std::uint64_t count, const char* what) {
    return std::to_string(count) + ' ' + what + (count == 1 ? "" : "s");
}

} // namespace

traced_job::traced_job(std::string file) : file_(std::move(file)) {
    if (file_.empty()) return;
    if (!std::ofstream(file_, std::ios::app)) throw usage_error("--trace", "'" + file_ + "' cannot be written");
    folder_ = file_ + ".ranks"; // it stays if this program is killed: then `bough trace` can read it
    std::error_code failed;
    std::filesystem::create_directories(folder_, failed);
    if (failed) throw usage_error("--trace", "the folder '" + folder_ + "' cannot be made");
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
        if (entry.path().extension() == ".trace") std::filesystem::remove(entry.path(), failed);
    ::setenv("BOUGH_TRACE", std::filesystem::absolute(folder_).c_str(), 1);
}

// Without finish() nothing is left that was not there.
traced_job::~traced_job() {
    if (file_.empty()) return;
    std::error_code ignored;
    std::filesystem::remove(folder_, ignored); // if it is empty
    if (std::filesystem::file_size(file_, ignored) == 0) std::filesystem::remove(file_, ignored);
}

void traced_job::finish() {
    if (file_.empty()) return;
    ::unsetenv("BOUGH_TRACE");
    if (std::filesystem::is_empty(folder_)) {
        std::cerr << "bough: --trace: no rank has made a communicator of this version of bough\n";
        std::ofstream out = open(file_, "--trace");
        write({}, out, file_);
    } else {
        const bough::merged_traces all = merge(files_in({folder_}));
        std::ofstream out = open(file_, "--trace");
        write(all, out, file_);
        const bough::trace_figures f = all.figures();
        if (f.failed != 0 || f.in_flight != 0)
            std::cerr << "bough: --trace: of " << counted(f.calls, "call") << ", " << f.failed << " failed and "
                      << f.in_flight << (f.in_flight == 1 ? " was" : " were") << " in flight at the end\n";
    }
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

int trace(const trace_arguments& typed) {
    const bough::merged_traces all = merge(files_in(typed.files));
    if (typed.out.empty()) {
        write(all, std::cout, "standard output");
        return 0;
    }
    std::ofstream out = open(typed.out, "--out");
    write(all, out, typed.out);
    const bough::trace_figures f = all.figures();
    std::cout << typed.out << ": " << counted(f.ranks, "rank") << ", " << counted(f.calls, "call") << ", "
              << counted(f.messages, "message") << "; " << f.predicted << " predicted, " << f.failed << " failed, "
              << f.in_flight << " in flight at the end\n";
    return 0;
}

} // namespace cli
