// SPDX-License-Identifier: BSL-1.0
// What the ranks of a job tell: in memory that they share with the program that watches them.
#ifndef BOUGH_TEST_SOAK_BOARD_HPP
#define BOUGH_TEST_SOAK_BOARD_HPP

#include <bough/core/status.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <new>
#include <string>
#include <sys/mman.h>

namespace soak {

enum class phase : std::uint32_t {
    joining,
    playing,
    agreeing,
    not_joined, // the group could not be made
    excluded,   // the others have taken it for dead
    left,       // by its own will
    done,
};
inline constexpr std::array phase_names{"joining", "playing", "agreeing", "not joined", "excluded", "gone", "done"};

struct seat {
    std::atomic<soak::phase> now{phase::joining};
    std::atomic<std::uint32_t> step{0}, call{0};
    std::atomic<bool> is_struck{false}; // what the plan says has befallen it
    std::uint32_t good = 0, failed = 0; // calls
    std::array<std::uint32_t, static_cast<std::size_t>(bough::last_errc) + 1> causes{}; // of those that failed
    std::uint32_t size = 0, epoch = 0;                                                  // of the group at the end
    std::array<char, 1000> wrong{}; // the first thing that must not be

    void complain(const std::string& sentence) {
        if (wrong[0] == '\0') std::snprintf(wrong.data(), wrong.size(), "%s", sentence.c_str());
        std::printf("%s\n", sentence.c_str());
        std::fflush(stdout);
    }
};

class board {
public:
    board() {
        void* const at = ::mmap(nullptr, sizeof(seats), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED) throw std::bad_alloc();
        at_ = new (at) seats;
    }
    board(const board&) = delete;
    ~board() { ::munmap(at_, sizeof(seats)); }
    seat& of(std::uint32_t rank) const { return (*at_)[rank]; }

private:
    using seats = std::array<seat, 16>;
    seats* at_;
};

} // namespace soak

#endif
