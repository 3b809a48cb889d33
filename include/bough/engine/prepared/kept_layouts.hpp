// SPDX-License-Identifier: BSL-1.0
// kept_layouts: the layouts that a plan of few steps had before its current one. A program that calls
// it with a few lengths in turns does not pay for finding its places in each call.
#ifndef BOUGH_ENGINE_PREPARED_KEPT_LAYOUTS_HPP
#define BOUGH_ENGINE_PREPARED_KEPT_LAYOUTS_HPP

#include <bough/core/config.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/core/moved_list.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/step.hpp>
#include <bough/engine/bound_view.hpp>
#include <bough/engine/engine.hpp>
#include <bough/engine/prepared/layout_key.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

// Which layout it is. Where its places and its scratch planes lie is kept apart: see below.
struct layout_name {
    layout_key key;
    std::uint64_t number = 0; // no two layouts of a plan have the same
    bool is_short = false;    // prepared::is_short()

    void swap_with(layout_name& other) noexcept {
        key.swap_with(other.key);
        std::swap(number, other.number);
        std::swap(is_short, other.is_short);
    }
};

template <int>
class basic_kept_layouts {
public:
    static constexpr std::size_t most = 3;

    // Makes the first kept layout with is_wanted(name) the current one, and keeps that in its place.
    // `places`, and from `planes` on: those of the current one. False: there is none.
    template <class F>
    bool exchange(F&& is_wanted, layout_name& current, plain_list<place_bytes>& places, std::byte** planes) noexcept {
        for (kept& known : kept_)
            if (is_wanted(known.name)) {
                known.name.swap_with(current);
                std::swap_ranges(places.begin(), places.end(), known.places.begin());
                std::swap_ranges(known.planes.begin(), known.planes.end(), planes);
                return true;
            }
        return false;
    }
    // Keeps the current layout, whose name is left without a key and number. If there are too many, it takes the place
    // of the one that was made first. If there is no memory, it is not kept.
    BOUGH_COLD void keep(layout_name& current, const plain_list<place_bytes>& places, std::byte* const* planes,
                         std::size_t how_many_planes) noexcept {
        if (kept_.size() != most)
            return ignore_exceptions([&] {
                kept now{{}, places, {}};
                now.planes.assign(planes, planes + how_many_planes);
                kept_.push_back(std::move(now));
                kept_.back().name.swap_with(current);
            });
        kept& first = *std::min_element(kept_.begin(), kept_.end(),
                                        [](const kept& a, const kept& b) { return a.name.number < b.name.number; });
        first.name.swap_with(current);
        current.key.forget();
        current.number = 0; // that of none
        std::copy(places.begin(), places.end(), first.places.begin());
        std::copy_n(planes, how_many_planes, first.planes.begin());
    }
    // The scratch planes have moved: no layout is where it was.
    void clear() noexcept { kept_.clear(); }

    std::size_t bytes() const noexcept {
        std::size_t all = kept_.capacity() * sizeof(kept);
        for (const kept& k : kept_)
            all += k.name.key.list_bytes() + k.places.capacity() * sizeof(place_bytes) +
                   k.planes.capacity() * sizeof(std::byte*);
        return all;
    }

private:
    struct kept {
        layout_name name;
        plain_list<place_bytes> places;
        plain_list<std::byte*> planes;
    };
    moved_list<kept> kept_;
};
using kept_layouts = basic_kept_layouts<0>;

} // namespace bough::detail

#endif
