# SPDX-License-Identifier: BSL-1.0
# Runs an example: its exit status must be 0 and, where EXPECTED exists, its output exactly that file.
execute_process(COMMAND ${PROGRAM} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE errors)
if(NOT result STREQUAL "0")
    message(FATAL_ERROR "ended with ${result}\n${output}${errors}")
endif()
if(EXISTS ${EXPECTED})
    file(READ ${EXPECTED} expected)
    if(NOT output STREQUAL expected)
        message(FATAL_ERROR "printed\n${output}instead of\n${expected}")
    endif()
endif()
