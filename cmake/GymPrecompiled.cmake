# Precompiled headers, one a group of targets instead of one a target: what is precompiled is only what comes from
# outside the project, since ccache cannot be trusted with generated headers and an edit of ours must not rebuild all.
#
# GCC takes a precompiled header only if every macro that the compiler's command line defined for it has the same
# definition in the source that uses it, and the same code model (PIC or not). Hence the groups:
#   std    modules and libraries: the standard library
#   json   those that read or write JSON: also Boost.JSON
#   test   tests: also GoogleTest and GoogleMock
#   torch  tests against libtorch: also libtorch
option(GYM_PCH "Precompile the headers of the standard library and of third parties" ON)

set(gym_pch_std_headers <algorithm> <array> <atomic> <chrono> <cstdint> <cstdio> <filesystem> <fstream> <functional> <map>
    <memory> <mutex> <numeric> <optional> <random> <set> <span> <sstream> <string> <string_view> <thread> <unordered_map>
    <utility> <variant> <vector>)

# gym_declare_pch(GROUP [HEADERS <header> ...] [LIBS lib ...])
function(gym_declare_pch group)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;LIBS")
    set(source "${CMAKE_BINARY_DIR}/pch/${group}.cpp")
    if(NOT EXISTS "${source}")
        file(WRITE "${source}" "// Compiled only so that its target can own a precompiled header.\n")
    endif()
    add_library(gym_pch_${group} OBJECT "${source}")
    target_link_libraries(gym_pch_${group} PRIVATE ${arg_LIBS})
    target_precompile_headers(gym_pch_${group} PRIVATE ${gym_pch_std_headers} ${arg_HEADERS})
endfunction()

# GCC 12 takes the inline code of a precompiled header for ours, and warns of what it wrongly sees in std::string.
set(gym_pch_options)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(gym_pch_options -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
endif()

# Lets `target` use the precompiled header of a group, where there is one.
function(gym_use_pch target group)
    if(TARGET gym_pch_${group})
        target_precompile_headers(${target} REUSE_FROM gym_pch_${group})
        target_compile_options(${target} PRIVATE ${gym_pch_options})
    endif()
endfunction()

if(GYM_PCH)
    gym_declare_pch(std)
    if(NOT GYM_ENGINE_ONLY)
        gym_declare_pch(json HEADERS <boost/json.hpp> LIBS Boost::json)
    endif()
    if(GYM_BUILD_TESTS)
        gym_declare_pch(test HEADERS <gmock/gmock.h> <gtest/gtest.h> LIBS GTest::gmock)
        # As tests are: executables, position independent by the compiler's own default.
        set_target_properties(gym_pch_test PROPERTIES POSITION_INDEPENDENT_CODE OFF)
        if(Torch_FOUND)
            gym_declare_pch(torch HEADERS <gmock/gmock.h> <gtest/gtest.h> <torch/torch.h> LIBS GTest::gmock torch)
            set_target_properties(gym_pch_torch PROPERTIES POSITION_INDEPENDENT_CODE OFF)
        endif()
    endif()
endif()

# gym_unite(TARGET COUNT REGEX): compiles the sources of `target` whose paths match `regex` in groups of `count`: for
# sources that share an expensive library of inline code, which is then parsed and compiled once a group. Names in their
# anonymous namespaces have to differ, which the build shows.
#
# CMake's own unity builds include sources by absolute paths, with which ccache shares nothing between checkouts. These
# are the most expensive objects of the build, so here they are included by paths relative to the build folder.
option(GYM_UNITY "Compile sources that share an expensive header in groups" ON)
function(gym_unite target count regex)
    if(NOT GYM_UNITY)
        return()
    endif()
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "${regex}")
    list(SORT sources)
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/united")
    list(LENGTH sources left)
    set(group 0)
    while(left GREATER 0)
        list(SUBLIST sources 0 ${count} members)
        set(content "")
        foreach(source IN LISTS members)
            get_filename_component(path "${source}" ABSOLUTE)
            file(RELATIVE_PATH path "${folder}" "${path}")
            string(APPEND content "#include \"${path}\"\n")
        endforeach()
        set(united "${folder}/${target}_${group}.cpp")
        file(CONFIGURE OUTPUT "${united}" CONTENT "${content}" @ONLY)
        target_sources(${target} PRIVATE "${united}")
        set_source_files_properties(${members} PROPERTIES HEADER_FILE_ONLY ON)
        list(REMOVE_ITEM sources ${members})
        list(LENGTH sources left)
        math(EXPR group "${group} + 1")
    endwhile()
endfunction()
