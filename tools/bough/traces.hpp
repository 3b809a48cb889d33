// SPDX-License-Identifier: BSL-1.0
// Traces of the ranks that this program starts; and files as they are.
#ifndef BOUGH_TOOLS_TRACES_HPP
#define BOUGH_TOOLS_TRACES_HPP

#include <string>

namespace cli {

// All of a file. Throws usage_error, of the argument FILE.
std::string bytes_in(const std::string& path);

// From here on, programs that this one starts, and communicators that it makes, write traces. finish()
// merges them into a file.
class traced_job {
public:
    // Throws usage_error if the file cannot be written. Empty `file`: nothing is traced.
    explicit traced_job(std::string file);
    traced_job(const traced_job&) = delete;
    traced_job& operator=(const traced_job&) = delete;
    ~traced_job();
    // Says on standard error what a reader should know. Throws if the file cannot be written.
    void finish();

private:
    std::string file_, folder_;
};

} // namespace cli

#endif
