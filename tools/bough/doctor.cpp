// SPDX-License-Identifier: BSL-1.0
// bough doctor: merges reports and recordings of the ranks of a job, and names what holds it up.
#include "commands.hpp"
#include "json.hpp"
#include "parse.hpp"
#include "traces.hpp"
#include <bough/report.hpp>

#include <cstddef>
#include <fstream>
#include <iostream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace cli {

namespace {

const char* name_of(bough::diagnosis::cause what) {
    using cause = bough::diagnosis::cause;
    switch (what) {
    case cause::none: return "none";
    case cause::waiting: return "waiting";
    case cause::differs: return "differs";
    case cause::not_called: return "not_called";
    case cause::out_of_order: return "out_of_order";
    case cause::stuck: return "stuck";
    case cause::died: return "died";
    case cause::failed: return "failed";
    }
    return "none";
}

} // namespace

std::string bytes_in(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) throw usage_error("FILE", "'" + path + "' cannot be opened");
    std::string bytes;
    try {
        bytes.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    } catch (const std::ios_base::failure&) { // a folder, for one
        throw usage_error("FILE", "'" + path + "' cannot be read");
    }
    return bytes;
}

int doctor(const doctor_arguments& typed) {
    bough::merged_reports all;
    std::vector<std::string> faults;
    for (const std::string& path : typed.files) {
        const std::string bytes = bytes_in(path);
        std::string fault;
        if (!all.add(std::as_bytes(std::span(bytes.data(), bytes.size())), "'" + path + "'", fault))
            faults.push_back(fault);
    }
    if (all.empty()) throw usage_error("FILE", faults.front());
    for (const std::string& fault : faults) std::cerr << "bough: FILE: " << fault << '\n';
    const bough::diagnosis found = all.find();
    if (typed.format == "json")
        print(std::cout, {{"cause", name_of(found.what)}, {"ranks", found.ranks}, {"sentence", found.sentence}});
    else
        std::cout << all.text();
    using cause = bough::diagnosis::cause;
    return found.what == cause::none || found.what == cause::waiting ? 0 : 1;
}

} // namespace cli
