# SPDX-License-Identifier: BSL-1.0
# Makes one source of several. In the folder where quoted includes are looked up:
#   cmake -D OUTPUT=file -D "SOURCES=room/a.cpp;room/b.cpp" -D OUTSIDE=regex -P join.cmake
# What the sources include comes first; then each source in a namespace of its own, where its names meet no namesakes.
# A source with a line that matches OUTSIDE cannot be in a namespace.
# That a source includes its header first shows nothing then: that headers stand alone is tested in joined rooms by
# headers.self_contained, and by that alone.
set(includes)
set(bodies)
foreach(source IN LISTS SOURCES)
    cmake_path(GET source PARENT_PATH folder)
    file(STRINGS ${source} lines REGEX "^# *(include|if|ifdef|ifndef|elif|else|endif)([^a-z]|$)")
    foreach(line IN LISTS lines)
        if(line MATCHES "^#include \"(.+)\"")
            set(beside ${folder}/${CMAKE_MATCH_1})
            if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${beside})
                set(line "#include \"${beside}\"")
            endif()
        endif()
        string(APPEND includes "${line}\n")
    endforeach()
    file(STRINGS ${source} lines REGEX ${OUTSIDE} LIMIT_COUNT 1)
    if(lines)
        message(FATAL_ERROR "${source} is to be compiled alone now (${lines}): configure again")
    endif()
    string(MAKE_C_IDENTIFIER ${source} name)
    string(APPEND bodies "namespace in_${name} {\n#include \"${source}\"\n}\n")
endforeach()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "${includes}\n${bodies}" @ONLY)
