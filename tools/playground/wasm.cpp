// SPDX-License-Identifier: BSL-1.0
// What the playground needs besides where it is WebAssembly, which has no exceptions here: a throw
// calls the page, which throws in JavaScript and makes a new instance. Nothing is unwound, so
// nothing may be called in this instance afterwards.
#include "answers.hpp"
#include "parse.hpp"

#include <cstdlib>
#include <string>
#include <typeinfo>

extern "C" {

// Of the page: it must throw. `wrong`: the fault is in this program, not in the question.
[[noreturn]] __attribute__((import_module("page"), import_name("refuse"))) void page_refuse(const char* sentence,
                                                                                            int wrong);

void* __cxa_allocate_exception(std::size_t size) noexcept { return std::malloc(size); }
void __cxa_free_exception(void* exception) noexcept { std::free(exception); }
[[noreturn]] void __cxa_throw(void* exception, std::type_info* type, void (*)(void*)) {
    if (*type == typeid(cli::usage_error)) page_refuse(static_cast<cli::usage_error*>(exception)->what(), 0);
    page_refuse(type->name(), 1);
}

// Where the page puts its question.
char* bough_playground_room(std::size_t size) {
    static std::string room;
    room.resize(size);
    return room.data();
}
}

namespace bough {

[[noreturn]] void contract_handler(const char* sentence, const char*, int) noexcept { page_refuse(sentence, 1); }

} // namespace bough
