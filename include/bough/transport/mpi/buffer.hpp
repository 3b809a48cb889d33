// SPDX-License-Identifier: BSL-1.0
// What bough::mpi gives to MPI's calls: counts of bytes, and memory that lives until MPI is done
// with it.
#ifndef BOUGH_TRANSPORT_MPI_BUFFER_HPP
#define BOUGH_TRANSPORT_MPI_BUFFER_HPP

#include <bough/core/config.hpp>

#include <cstddef>
#include <memory>
#include <mpi.h>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

// Count and datatype for so many bytes, even more than an int can count.
class mpi_bytes {
public:
    explicit mpi_bytes(std::size_t n) {
        constexpr std::size_t most = std::size_t{1} << 30;
        if (n <= most) {
            count = static_cast<int>(n);
            return;
        }
        count = 1;
        MPI_Datatype large;
        MPI_Type_contiguous(static_cast<int>(most), MPI_BYTE, &large);
        const int lengths[2] = {static_cast<int>(n / most), static_cast<int>(n % most)};
        const MPI_Aint places[2] = {0, static_cast<MPI_Aint>(n / most * most)};
        const MPI_Datatype types[2] = {large, MPI_BYTE};
        MPI_Type_create_struct(2, lengths, places, types, &type);
        MPI_Type_commit(&type);
        MPI_Type_free(&large);
        made_ = true;
    }
    mpi_bytes(const mpi_bytes&) = delete;
    mpi_bytes& operator=(const mpi_bytes&) = delete;
    ~mpi_bytes() { // MPI keeps the datatype as long as a transfer needs it
        if (made_) MPI_Type_free(&type);
    }
    int count = 0;
    MPI_Datatype type = MPI_BYTE;

private:
    bool made_ = false;
};

// Memory that MPI reads or writes. It is never freed before MPI is done with it.
struct mpi_buffer {
    mpi_buffer() = default;
    explicit mpi_buffer(std::size_t bytes) : memory(std::make_unique<std::byte[]>(bytes)) {}
    mpi_buffer(mpi_buffer&& from) noexcept
        : memory(std::move(from.memory)), request(std::exchange(from.request, MPI_REQUEST_NULL)) {}
    mpi_buffer& operator=(mpi_buffer&& from) noexcept {
        std::swap(memory, from.memory);
        std::swap(request, from.request);
        return *this;
    }
    ~mpi_buffer() {
        if (request != MPI_REQUEST_NULL) (void)memory.release();
    }
    std::unique_ptr<std::byte[]> memory{};
    MPI_Request request = MPI_REQUEST_NULL;
};

} // namespace bough::detail

#endif
