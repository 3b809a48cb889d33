// SPDX-License-Identifier: BSL-1.0
// Passes on what ranks print through the launcher. There is a pipe for each stream of each rank.
// Its lines go on, with the rank before each, to the launcher's own stream.
//
// Nothing here waits. A slow reader of the launcher's output slows the ranks that print, as it
// would without a launcher: when too much waits for the reader, the pipes are not read. Nothing is
// lost unless nobody reads any more.
#ifndef BOUGH_LAUNCH_DETAIL_OUTPUT_HPP
#define BOUGH_LAUNCH_DETAIL_OUTPUT_HPP

#include <bough/core/rank.hpp>
#include <bough/os/fd.hpp>

#include <climits>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <poll.h>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace bough::inline BOUGH_ABI::detail::jobs {

// Standard output or standard error of this process. It may be a pipe that is full, or be closed.
// This class does not own it, and so does not change whether its writes block.
class output_stream {
public:
    explicit output_stream(int fd) noexcept : fd_(fd) {}

    int descriptor() const noexcept { return fd_; }
    bool empty() const noexcept { return text_.empty(); }
    bool has_room() const noexcept { return text_.size() - sent_ < most_waiting; }
    void add(rank_t rank, std::string_view line) {
        text_ += '[';
        text_ += std::to_string(rank);
        text_ += "] ";
        text_ += line;
    }
    // Writes what the stream takes now.
    void flush() {
        while (!text_.empty()) {
            pollfd now{fd_, POLLOUT, 0};
            if (::poll(&now, 1, 0) == 0) break;
            // Nobody reads it, or it is closed.
            if ((now.revents & (POLLERR | POLLNVAL)) != 0) return drop();
            // So many bytes can be written without blocking. Only whole lines are written, so that
            // two streams at one terminal do not mix their lines.
            std::string_view some = std::string_view(text_).substr(sent_, PIPE_BUF);
            if (const std::size_t end = some.rfind('\n'); end != some.npos) some = some.substr(0, end + 1);
            const ssize_t written = ::write(fd_, some.data(), some.size());
            if (written < 0 && errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK) return drop();
            if (written < 0 && errno != EINTR) break;
            if (written > 0) sent_ += static_cast<std::size_t>(written);
            if (sent_ == text_.size()) drop();
        }
        text_.erase(0, std::exchange(sent_, 0));
    }

private:
    static constexpr std::size_t most_waiting = std::size_t{1} << 16;
    void drop() noexcept {
        text_.clear();
        sent_ = 0;
    }

    int fd_;
    std::string text_;
    std::size_t sent_ = 0;
};

// One stream of one rank.
class output_pipe {
public:
    static constexpr std::size_t longest_line = std::size_t{1} << 16; // a longer one is cut in two

    output_pipe() = default;
    // Takes the end that is read, which must not block.
    explicit output_pipe(unique_fd fd) noexcept : fd_(std::move(fd)) {}

    int descriptor() const noexcept { return fd_.get(); } // -1: closed
    // Passes on what has come. `is_over`: the rank has ended; then the pipe is closed even if
    // another process still holds the other end.
    void forward(rank_t rank, output_stream& to, bool is_over) {
        char buffer[4096];
        while (fd_ && to.has_room()) {
            const ssize_t n = ::read(fd_.get(), buffer, sizeof buffer);
            if (n < 0 && errno == EINTR) continue;
            if (n > 0) {
                line_.append(buffer, static_cast<std::size_t>(n));
                pass_lines(rank, to);
                continue;
            }
            if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) && !is_over) return;
            if (!line_.empty()) to.add(rank, line_ += '\n');
            line_.clear();
            fd_.reset();
        }
    }

private:
    void pass_lines(rank_t rank, output_stream& to) {
        std::size_t from = 0;
        for (std::size_t end = 0; (end = line_.find('\n', from)) != line_.npos; from = end + 1)
            to.add(rank, std::string_view(line_).substr(from, end + 1 - from));
        line_.erase(0, from);
        if (line_.size() < longest_line) return;
        to.add(rank, line_ += '\n');
        line_.clear();
    }

    unique_fd fd_;
    std::string line_; // what came after the last newline
};

} // namespace bough::detail::jobs

#endif
