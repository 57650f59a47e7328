# Language level, warnings, sanitizers, compiler cache. Everything here holds for every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ON)

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# Assertions stay on in release: a broken invariant must stop before money or a verdict moves.
if(CMAKE_CXX_FLAGS_RELEASE STREQUAL "-O3 -DNDEBUG")  # CMake's default: no other flags were requested
    set(CMAKE_CXX_FLAGS_RELEASE "-O2")
    if(GYM_SANITIZE)
        # Instrumented code takes twice as long to compile at -O2; only these modules take far longer to run without.
        set(CMAKE_CXX_FLAGS_RELEASE "-O0")
        set(GYM_SANITIZED_HOT_MODULES commit program quality)
    endif()
endif()
# For code that waits for people, networks and disks: compiling it counts.
if(NOT GYM_SANITIZE)
    set(GYM_LIGHT_OPTIMISATION $<$<CONFIG:Release>:-O1>)
endif()
string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")

# A fused multiply-add may exist only where the source says fma (docs/NUMERICS.md).
add_compile_options(-ffp-contract=off -fno-fast-math)
# Designated initialisers that leave members at their defaults are how options are passed here.
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers
                    -Werror)

if(GYM_SANITIZE)
    add_compile_options(-fsanitize=${GYM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
    # Instrumented code makes GCC 12 warn about std::function and std::optional inside the standard library.
    add_compile_options(-Wno-maybe-uninitialized)
    if(GYM_SANITIZE MATCHES "thread")
        # Asio's fences: unknown to the sanitizer, which can only report too much for them, not too little.
        add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
    endif()
    add_link_options(-fsanitize=${GYM_SANITIZE})
endif()

# Test programs have some hundred MB each under sanitizers: Debian's default linker takes minutes for them. Programs that
# users run are linked by the default one, which leaves out libraries that nothing needs in more cases (network_links).
find_program(GYM_MOLD mold)
if(GYM_MOLD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12.1)
    set(GYM_TEST_LINK_OPTIONS -fuse-ld=mold)
endif()

find_program(GYM_CCACHE ccache)
if(GYM_CCACHE)
    # Paths relative to the source tree, so that clones in other folders share the cache.
    set(gym_launcher
        "${CMAKE_COMMAND};-E;env;CCACHE_BASEDIR=${CMAKE_SOURCE_DIR};CCACHE_NOHASHDIR=1;CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime;${GYM_CCACHE}"
    )
    foreach(language CXX CUDA)
        if(NOT CMAKE_${language}_COMPILER_LAUNCHER)
            set(CMAKE_${language}_COMPILER_LAUNCHER "${gym_launcher}")
        endif()
    endforeach()
endif()
