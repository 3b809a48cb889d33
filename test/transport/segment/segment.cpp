// SPDX-License-Identifier: BSL-1.0
// A segment has memory where it is backed or reserved, and nowhere else; a file that is none is not mapped.
#include "support/catch.hpp"
#include <bough/core/status.hpp>
#include <bough/os/fd.hpp>
#include <bough/transport/segment/segment.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace bough;
using bough::detail::shared_segment;
using bough::detail::unique_fd;

namespace {

constexpr std::uint64_t mib = 1u << 20, bytes = 16 * mib;

std::uint64_t memory_of(const unique_fd& fd) {
    struct stat about {};
    REQUIRE(::fstat(fd.get(), &about) == 0);
    return static_cast<std::uint64_t>(about.st_blocks) * 512;
}
// Linux 5.14 or later.
bool can_populate() {
#if defined(MADV_POPULATE_WRITE)
    shared_segment one;
    unique_fd fd;
    if (shared_segment::make(4096, 4096, "one page", one, fd)) return false;
    return ::madvise(one.data(), one.size(), MADV_POPULATE_WRITE) == 0 || errno != EINVAL;
#else
    return false;
#endif
}

} // namespace

TEST_CASE("shared_segment: what is backed or reserved has memory, and no more") {
    for (const std::uint64_t backed : {std::uint64_t{0}, std::uint64_t{4096}, bytes}) {
        CAPTURE(backed);
        shared_segment made;
        unique_fd fd;
        REQUIRE_FALSE(shared_segment::make(bytes, backed, "too much", made, fd));
        CHECK(made.size() == bytes);
        const bool is_sparse = backed != bytes && can_populate();
        CHECK(memory_of(fd) >= backed);
        if (is_sparse) CHECK(memory_of(fd) <= 4 * mib); // its pages may be huge
        if (!is_sparse) CHECK(memory_of(fd) >= bytes);
        CHECK(made.reserve(8 * mib, mib));
        CHECK(memory_of(fd) >= mib);
        if (is_sparse) CHECK(memory_of(fd) <= 8 * mib);
        CHECK(made.reserve(bytes, 0));
        CHECK_FALSE(made.reserve(bytes, 1));
        CHECK_FALSE(made.reserve(1, bytes));

        shared_segment theirs;
        CHECK(shared_segment::open(fd.get(), bytes - 1, theirs).code == errc::protocol_error);
        REQUIRE_FALSE(shared_segment::open(fd.get(), bytes, theirs));
        made.data()[8 * mib + 5] = std::byte{77};
        CHECK(theirs.data()[8 * mib + 5] == std::byte{77});
        CHECK(std::count(theirs.data() + 8 * mib, theirs.data() + 9 * mib, std::byte{0}) == mib - 1);
    }
}

TEST_CASE("shared_segment: more than there is memory is refused, and so is a file that may still shrink") {
    shared_segment made;
    unique_fd fd;
    const status why = shared_segment::make(std::uint64_t{1} << 50, 4096, "too much", made, fd);
    CHECK(why.code == errc::no_resources);
    CHECK(why.argument == std::string_view("too much"));
    CHECK(made.data() == nullptr);
    const unique_fd file(::memfd_create("no segment", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    REQUIRE(::ftruncate(file.get(), 4096) == 0);
    CHECK(shared_segment::open(file.get(), 4096, made).code == errc::protocol_error);
    CHECK(made.data() == nullptr);
}
