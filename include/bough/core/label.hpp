// SPDX-License-Identifier: BSL-1.0
// A label: what a value is called, as one would write it in C++: circulant{.ports = 2}. Text
// without memory of its own.
//
//   constexpr label text() const { return label("circulant").field("ports", ports); }      a member of the value's class
//   label_of(value).c_str()         its text(), or the name of its type if it has none
//   text_tells_v<T>                 values with the same text do the same
#ifndef BOUGH_CORE_LABEL_HPP
#define BOUGH_CORE_LABEL_HPP

#include <bough/core/config.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI {

class label {
public:
    static constexpr std::size_t capacity = 118; // what is longer is cut

    constexpr label() = default;
    constexpr label(const char* text) { append(text); }

    constexpr const char* c_str() const noexcept { return text_; }
    constexpr std::size_t size() const noexcept { return size_; }

    BOUGH_COLD constexpr label& append(const char* text) {
        while (*text != '\0') push(*text++);
        return *this;
    }
    BOUGH_COLD constexpr label& append(std::uint64_t number) {
        char digits[20]{};
        std::size_t count = 0;
        do digits[count++] = static_cast<char>('0' + number % 10);
        while ((number /= 10) != 0);
        while (count != 0) push(digits[--count]);
        return *this;
    }
    // name{.field = value}; more fields are added behind it.
    BOUGH_COLD constexpr label& field(const char* name, std::uint64_t value) {
        open().append(".").append(name).append(" = ").append(value);
        return close();
    }
    // The same, unless the value is the one that the field has anyway.
    constexpr label& field(const char* name, std::uint64_t value, std::uint64_t usual) {
        return value == usual ? *this : field(name, value);
    }
    // name{inner}
    BOUGH_COLD constexpr label& field(const label& inner) {
        open().append(inner.c_str());
        return close();
    }

    friend constexpr bool operator==(const label& a, const label& b) noexcept {
        if (a.size_ != b.size_) return false;
        for (std::size_t i = 0; i != a.size_; ++i)
            if (a.text_[i] != b.text_[i]) return false;
        return true;
    }

private:
    constexpr void push(char c) {
        if (size_ != capacity) text_[size_++] = c;
    }
    constexpr label& open() {
        if (has_fields_ && size_ != 0) text_[--size_] = '\0';
        append(has_fields_ ? ", " : "{");
        has_fields_ = true;
        return *this;
    }
    constexpr label& close() { return append("}"); }

    char text_[capacity + 1]{};
    unsigned char size_ = 0;
    bool has_fields_ = false;
};

namespace detail {

// Finds T in the name of a function template, as compilers print it ("... [with T = bough::ring]",
// "... [T = bough::ring]"), and writes it as inside namespace bough.
BOUGH_COLD constexpr label type_in(const char* at) {
    while (*at != '\0' && !(at[0] == 'T' && at[1] == ' ' && at[2] == '=' && at[3] == ' ')) ++at;
    if (*at == '\0') return "unnamed";
    label made;
    const auto starts = [](const char* text, const char* with) {
        while (*with != '\0')
            if (*text++ != *with++) return false;
        return true;
    };
    int depth = 0;
    for (at += 4; *at != '\0'; ++at) {
        if (depth == 0 && (*at == ']' || *at == ';')) break;
        if (starts(at, "bough::")) {
            at += 6;
            continue;
        }
        if (starts(at, BOUGH_ABI_TEXT "::")) {
            at += sizeof(BOUGH_ABI_TEXT "::") - 2;
            continue;
        }
        depth += *at == '<' ? 1 : *at == '>' ? -1 : 0;
        const char letter[] = {*at, '\0'};
        made.append(letter);
    }
    return made;
}

// The name of a type.
template <class T>
constexpr label type_label() {
#if defined(__GNUC__)
    return type_in(__PRETTY_FUNCTION__);
#else
    return "unnamed";
#endif
}

} // namespace detail

template <class T>
constexpr label label_of(const T& value) {
    if constexpr (requires {
                      { value.text() } -> std::convertible_to<label>;
                  })
        return value.text();
    else
        return detail::type_label<T>();
}

// Do two values of the type with the same text do the same? The type says so by naming itself, so
// that a class derived from it does not:
//   using text_tells = circulant_broadcast;
template <class T>
inline constexpr bool text_tells_v = requires {
    requires std::same_as<typename T::text_tells, T>;
};

} // namespace bough

#endif
