// SPDX-License-Identifier: BSL-1.0
// Report: what one rank knows, as a value: the recordings of its communicators, one behind the other.
//
// communicator::report() makes it. Its bytes are those of a recording file, too. To print it, to save
// it, and to merge it with those of other ranks, include bough/report.hpp.
#ifndef BOUGH_REPORT_VALUE_HPP
#define BOUGH_REPORT_VALUE_HPP

#include <bough/core/config.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI {

class rank_report {
public:
    rank_report() = default;
    explicit rank_report(std::span<const std::byte> bytes) : bytes_(bytes.begin(), bytes.end()) {}

    // In the byte order of this machine, aligned to 8.
    const std::vector<std::byte>& bytes() const noexcept { return bytes_; }
    bool empty() const noexcept { return bytes_.empty(); }
    void append(std::span<const std::byte> recording) {
        bytes_.insert(bytes_.end(), recording.begin(), recording.end());
    }

private:
    std::vector<std::byte> bytes_;
};

} // namespace bough

#endif
