// SPDX-License-Identifier: BSL-1.0
// Arena: memory for objects of any type that must live as long as a started operation. The next
// operation uses it again.
//
// Objects lie one behind the other in pieces of memory. clear() destroys them and joins the pieces.
// So once the largest operation has run, nothing is allocated any more.
#ifndef BOUGH_COMMUNICATOR_ARENA_HPP
#define BOUGH_COMMUNICATOR_ARENA_HPP

#include <bough/core/config.hpp>
#include <bough/core/search.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

template <int>
class basic_arena {
public:
    basic_arena() = default;
    basic_arena(const basic_arena&) = delete;
    basic_arena& operator=(const basic_arena&) = delete;
    ~basic_arena() { clear(); }

    void* allocate(std::size_t bytes, std::size_t alignment) {
        void* at = next_;
        if (next_ == nullptr || std::align(alignment, bytes, at, left_) == nullptr) {
            const std::size_t size =
                std::max({bytes + alignment, want_, 2 * (pieces_.empty() ? 0 : pieces_.back().size)});
            pieces_.push_back({std::unique_ptr<std::byte[]>(new std::byte[size]), size});
            total_ += size;
            at = pieces_.back().bytes.get();
            left_ = size;
            std::align(alignment, bytes, at, left_);
        }
        next_ = static_cast<std::byte*>(at) + bytes;
        left_ -= bytes;
        return at;
    }
    template <class V, class... A>
    V& make(A&&... arguments) {
        if constexpr (std::is_trivially_destructible_v<V>) {
            return *::new (allocate(sizeof(V), alignof(V))) V(std::forward<A>(arguments)...);
        } else {
            auto* owned = ::new (allocate(sizeof(owner<V>), alignof(owner<V>))) owner<V>(std::forward<A>(arguments)...);
            owned->next = std::exchange(owners_, owned);
            return owned->value;
        }
    }
    // Destroys the objects that were made, the latest first.
    void clear() noexcept {
        while (owners_ != nullptr) {
            owner_base* last = std::exchange(owners_, owners_->next);
            last->~owner_base();
        }
        if (pieces_.size() > 1) {
            want_ = total_;
            pieces_.clear();
            total_ = 0;
        }
        next_ = pieces_.empty() ? nullptr : pieces_[0].bytes.get();
        left_ = pieces_.empty() ? 0 : pieces_[0].size;
    }
    // Does p point into the memory of this arena?
    bool owns(const void* p) const noexcept {
        const auto place = reinterpret_cast<std::uintptr_t>(p);
        return detail::any_of(pieces_, [place](const piece& x) {
            // A p below wraps around.
            return place - reinterpret_cast<std::uintptr_t>(x.bytes.get()) < x.size;
        });
    }
    std::size_t bytes() const noexcept { return total_ + pieces_.capacity() * sizeof(piece); }

private:
    struct owner_base {
        owner_base() = default;
        owner_base(const owner_base&) = delete;
        virtual ~owner_base() = default;
        owner_base* next = nullptr;
    };
    template <class V>
    struct owner final : owner_base {
        template <class... A>
        explicit owner(A&&... arguments) : value(std::forward<A>(arguments)...) {}
        V value;
    };
    struct piece {
        std::unique_ptr<std::byte[]> bytes;
        std::size_t size;
    };

    std::vector<piece> pieces_;
    std::byte* next_ = nullptr;
    std::size_t left_ = 0, total_ = 0;
    std::size_t want_ = 256;
    owner_base* owners_ = nullptr;
};
using arena = basic_arena<0>;

// For containers in an arena: memory that they give back can be used again only after clear().
template <class V>
struct kept_allocator {
    using value_type = V;
    explicit kept_allocator(arena& m) noexcept : memory(&m) {}
    template <class U>
    kept_allocator(const kept_allocator<U>& other) noexcept : memory(other.memory) {}
    V* allocate(std::size_t n) { return static_cast<V*>(memory->allocate(n * sizeof(V), alignof(V))); }
    void deallocate(V*, std::size_t) noexcept {}
    friend bool operator==(const kept_allocator& a, const kept_allocator& b) noexcept { return a.memory == b.memory; }
    arena* memory;
};

// Bytes in an arena, which are not cleared.
struct kept_bytes {
    explicit kept_bytes(arena& m) noexcept : memory(&m) {}
    void resize(std::size_t size) {
        bytes = static_cast<std::byte*>(memory->allocate(size, alignof(std::max_align_t)));
    }
    std::byte* data() const noexcept { return bytes; }
    arena* memory;
    std::byte* bytes = nullptr;
};

} // namespace bough::detail

#endif
