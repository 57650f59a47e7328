# One function for modules, one for tests: what makes the layering a rule instead of a habit.

# gym_add_module(NAME name [SOURCES ...] HEADERS ... [DEPS module ...] [LIBS lib ...] [PRIVATE_LIBS lib ...] [PCH group]
#                [UNITE n])
#
# Defines gym_<name> (alias gym::<name>). HEADERS are relative to the module's include/ folder, its only
# public include root. DEPS are gym modules and must be declared already: declaration order is the DAG, a
# cycle cannot be written. A header of an undeclared dependency is not found by the compiler. Every header
# compiles alone (target all_verify_interface_header_sets). PRIVATE_LIBS stay inside the module's sources. PCH:
# the group of precompiled headers (GymPrecompiled.cmake); json for modules that link Boost.JSON, else std; none. UNITE:
# sources are compiled n at a time (gym_unite), where that was measured to save a third of the time or more.
function(gym_add_module)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;PCH;UNITE" "SOURCES;HEADERS;DEPS;LIBS;PRIVATE_LIBS")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "gym_add_module(${arg_NAME}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
    endif()
    foreach(dep IN LISTS arg_DEPS)
        if(NOT TARGET gym_${dep})
            message(FATAL_ERROR "module '${arg_NAME}' depends on '${dep}', which is not declared before it "
                                "(see the module order in CMakeLists.txt)")
        endif()
    endforeach()
    list(TRANSFORM arg_DEPS PREPEND gym::)
    list(TRANSFORM arg_HEADERS PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/include/")
    set(target gym_${arg_NAME})
    if(arg_SOURCES)
        set(scope PUBLIC)
        add_library(${target} STATIC ${arg_SOURCES})
        target_link_libraries(${target} PRIVATE ${arg_PRIVATE_LIBS})
        target_include_directories(${target} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
        if(NOT arg_PCH)
            set(arg_PCH std)
            if("Boost::json" IN_LIST arg_PRIVATE_LIBS)
                set(arg_PCH json)
            endif()
        endif()
        if(arg_NAME IN_LIST GYM_SANITIZED_HOT_MODULES)
            target_compile_options(${target} PRIVATE -O1)
            set(arg_PCH none)  # it was compiled at -O0
        endif()
        gym_use_pch(${target} ${arg_PCH})
        if(arg_UNITE)
            gym_unite(${target} ${arg_UNITE} "\\.cpp$")
        endif()
    else()
        set(scope INTERFACE)
        add_library(${target} INTERFACE)
    endif()
    add_library(gym::${arg_NAME} ALIAS ${target})
    target_sources(${target} ${scope} FILE_SET HEADERS BASE_DIRS "${CMAKE_CURRENT_SOURCE_DIR}/include"
                   FILES ${arg_HEADERS})
    target_link_libraries(${target} ${scope} ${arg_DEPS} ${arg_LIBS})
endfunction()

# The targets of the sanitizer tier: every test labelled unit or fuzz, and their dependencies.
add_custom_target(gym_unit_tests)

# gym_add_test(NAME name SOURCES ... [DEPS module ...] [LIBS lib ...] [LABELS ...] [TIMEOUT s] [ARGS ...]
#              [PCH group] [UNITE n])
#
# Defines an executable test_<name> with GoogleTest's main and registers it with ctest as <name>.
# Labels: unit (default), integration, sim, fuzz; scaled: heeds GYM_TEST_SCALE; release_only: too slow under
# sanitizers. TIMEOUT in seconds, default 240, three times as long under sanitizers: it ends what hangs, so it is far
# above what a slow machine under load takes. Tests that take as long as they are told to (scaled, sim, fuzz) have none,
# so that `ctest --timeout` of each tier holds. UNITE: files *_test.cpp are compiled n at a time, 4 by default (about a
# quarter less work); 1 where their anonymous namespaces share names.
function(gym_add_test)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;TIMEOUT;PCH;UNITE" "SOURCES;DEPS;LIBS;LABELS;ARGS")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "gym_add_test(${arg_NAME}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
    endif()
    foreach(dep IN LISTS arg_DEPS)
        if(TARGET gym_${dep})
            continue()
        endif()
        if(GYM_ENGINE_ONLY)
            return()  # a test of a module that this build leaves out
        endif()
        message(FATAL_ERROR "test '${arg_NAME}' names module '${dep}', which does not exist")
    endforeach()
    if(NOT arg_UNITE)
        set(arg_UNITE 4)
    endif()
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 240)
    endif()
    if(GYM_SANITIZE)
        math(EXPR arg_TIMEOUT "3 * ${arg_TIMEOUT}")
    endif()
    if(NOT arg_LABELS)
        set(arg_LABELS unit)
    endif()
    list(TRANSFORM arg_DEPS PREPEND gym::)
    set(target test_${arg_NAME})
    add_executable(${target} ${arg_SOURCES})
    target_link_libraries(${target} PRIVATE ${arg_DEPS} ${arg_LIBS} GTest::gmock GTest::gtest_main)
    if(arg_UNITE GREATER 1)
        gym_unite(${target} ${arg_UNITE} "_test\\.cpp$")
    endif()
    target_link_options(${target} PRIVATE ${GYM_TEST_LINK_OPTIONS})
    target_include_directories(${target} PRIVATE "${CMAKE_SOURCE_DIR}/tests/support")
    if(NOT arg_PCH)
        set(arg_PCH test)
    endif()
    # As the precompiled header: position independent by the compiler's own default.
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    gym_use_pch(${target} ${arg_PCH})
    if(NOT arg_LABELS MATCHES "scaled|sim|fuzz")
        target_compile_options(${target} PRIVATE ${GYM_LIGHT_OPTIMISATION})  # they run for milliseconds, or wait for servers
    endif()
    if(arg_LABELS MATCHES "unit|fuzz" AND NOT arg_LABELS MATCHES "release_only")
        add_dependencies(gym_unit_tests ${target})
    endif()
    add_test(NAME ${arg_NAME} COMMAND ${target} ${arg_ARGS})
    if(NOT arg_LABELS MATCHES "scaled|sim|fuzz")
        set_tests_properties(${arg_NAME} PROPERTIES TIMEOUT ${arg_TIMEOUT})
    endif()
    set_tests_properties(${arg_NAME} PROPERTIES LABELS "${arg_LABELS}"
                         ENVIRONMENT "GYM_SOURCE_DIR=${CMAKE_SOURCE_DIR};GYM_BINARY_DIR=${CMAKE_BINARY_DIR}")
endfunction()
