// SPDX-License-Identifier: BSL-1.0
// Progress: a line that a timer's signal draws, and that goes before anything else is printed.
#include "progress.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <iostream>
#include <streambuf>
#include <string_view>
#include <sys/time.h>
#include <unistd.h>

namespace cli::progress {

namespace {

constexpr std::uint64_t after_ms = 2000, every_ms = 500;

std::atomic<const char*> command{nullptr};
std::atomic<std::uint64_t> begun_ms{0}, total{0}, done{0};
std::atomic<bool> drawn{false};
static_assert(std::atomic<const char*>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free);

std::uint64_t now_ms() noexcept {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1000 + static_cast<std::uint64_t>(t.tv_nsec) / 1'000'000;
}

// A line that is put together where nothing may allocate.
class line {
public:
    line& operator<<(std::string_view text) noexcept {
        const std::size_t n = std::min(text.size(), sizeof text_ - size_);
        std::memcpy(text_ + size_, text.data(), n);
        size_ += n;
        return *this;
    }
    line& operator<<(std::uint64_t number) noexcept {
        char digits[20];
        std::size_t n = 0;
        do digits[n++] = static_cast<char>('0' + number % 10);
        while ((number /= 10) != 0);
        std::reverse(digits, digits + n);
        return *this << std::string_view(digits, n);
    }
    void write() const noexcept { (void)!::write(STDERR_FILENO, text_, size_); }

private:
    char text_[160];
    std::size_t size_ = 0;
};

void draw(int) {
    const int kept = errno;
    const char* const name = command.load(std::memory_order_relaxed);
    const std::uint64_t ran = now_ms() - begun_ms.load(std::memory_order_relaxed);
    if (name != nullptr && ran >= after_ms) {
        const std::uint64_t all = total.load(std::memory_order_relaxed);
        const std::uint64_t so_far = std::min(done.load(std::memory_order_relaxed), all);
        line l;
        l << "\rbough " << name << ": ";
        if (so_far != 0) {
            const auto share = static_cast<double>(so_far) / static_cast<double>(all);
            const auto bars = static_cast<std::size_t>(share * 30);
            l << "[" << std::string_view("##############################").substr(0, bars)
              << std::string_view("                              ").substr(bars) << "] "
              << static_cast<std::uint64_t>(share * 100) << " %, about "
              << static_cast<std::uint64_t>(static_cast<double>(ran) * (1 - share) / share / 1000) + 1 << " s left";
        } else {
            l << "at work for " << ran / 1000 << " s";
        }
        l << "\033[K";
        l.write();
        drawn = true;
    }
    errno = kept;
}

void clear() noexcept {
    if (drawn.exchange(false)) (line{} << "\r\033[K").write();
}

// Standard output, which clears the line first and is quiet for a while.
class output final : public std::streambuf {
public:
    explicit output(std::streambuf* out) : out_(out) {}

private:
    void tidy() noexcept {
        begun_ms = now_ms();
        total = 0; // what is printed step by step shows how far it is
        clear();
    }
    int overflow(int c) override {
        tidy();
        return c == traits_type::eof() ? out_->pubsync() : out_->sputc(static_cast<char>(c));
    }
    std::streamsize xsputn(const char* text, std::streamsize n) override {
        tidy();
        return out_->sputn(text, n);
    }
    int sync() override { return out_->pubsync(); }
    std::streambuf* out_;
};

output* watched = nullptr;
std::streambuf* plain = nullptr;

} // namespace

shown::shown(const char* name) {
    if (isatty(STDERR_FILENO) == 0) return;
    begun_ms = now_ms();
    command = name;
    if (isatty(STDOUT_FILENO) != 0) { // else what is printed there does not meet the line
        plain = std::cout.rdbuf();
        watched = new output(plain);
        std::cout.rdbuf(watched);
    }
    struct sigaction action {};
    action.sa_handler = &draw;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, nullptr);
    const itimerval timer{{0, every_ms * 1000}, {0, every_ms * 1000}};
    setitimer(ITIMER_REAL, &timer, nullptr);
}

shown::~shown() {
    if (command.exchange(nullptr) == nullptr) return;
    const itimerval none{};
    setitimer(ITIMER_REAL, &none, nullptr);
    clear();
    if (watched == nullptr) return;
    std::cout.flush();
    std::cout.rdbuf(plain);
    delete watched;
    watched = nullptr;
}

void expect(std::uint64_t steps) noexcept {
    done = 0;
    total = steps;
}
void step(std::uint64_t count) noexcept { done.fetch_add(count, std::memory_order_relaxed); }

} // namespace cli::progress
