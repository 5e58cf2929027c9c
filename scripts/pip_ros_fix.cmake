# Passed by scripts/build.sh only when ROS 2 comes from the wheels on PyPI:
#   colcon build --cmake-args -DCMAKE_PROJECT_INCLUDE=<this file>
#
# The wheels' exported <package>__rosidl_generator_py targets name the Python and NumPy include
# directories of the container they were built in (/opt/python/cp3...), and CMake refuses imported
# targets with include directories that do not exist. CMake includes this file from project(); the
# deferred call runs after the package's CMakeLists.txt, when all targets have been imported.

function(sightplan_drop_missing_wheel_includes)
  get_property(imported DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target IN LISTS imported)
    get_target_property(includes "${target}" INTERFACE_INCLUDE_DIRECTORIES)
    if(NOT includes MATCHES "/opt/python/")
      continue()
    endif()
    set(existing "")
    foreach(directory IN LISTS includes)
      if(NOT directory MATCHES "^/opt/python/" OR EXISTS "${directory}")
        list(APPEND existing "${directory}")
      endif()
    endforeach()
    set_target_properties("${target}" PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${existing}")
  endforeach()
endfunction()

cmake_language(DEFER CALL sightplan_drop_missing_wheel_includes)
