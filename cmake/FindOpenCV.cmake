# Finds the OpenCV modules asked for as COMPONENTS, each by its own header and library.
#
# OpenCV's own OpenCVConfig.cmake insists on every module that the distribution built, which on
# Debian means libopencv-dev with some 240 packages that nothing here uses.
#
# Sets OpenCV_FOUND, OpenCV_VERSION and OpenCV_LIBS; defines targets opencv_<component>.
include(FindPackageHandleStandardArgs)

find_path(OpenCV_INCLUDE_DIR opencv2/core/version.hpp PATH_SUFFIXES opencv4)
mark_as_advanced(OpenCV_INCLUDE_DIR)

set(OpenCV_VERSION)
if(OpenCV_INCLUDE_DIR)
  foreach(part MAJOR MINOR REVISION)
    file(STRINGS ${OpenCV_INCLUDE_DIR}/opencv2/core/version.hpp line
         REGEX "^#define CV_VERSION_${part}[ \t]+[0-9]+")
    string(REGEX MATCH "[0-9]+$" number "${line}")
    list(APPEND OpenCV_VERSION ${number})
  endforeach()
  list(JOIN OpenCV_VERSION "." OpenCV_VERSION)
endif()

set(OpenCV_LIBS)
foreach(component ${OpenCV_FIND_COMPONENTS})
  find_library(OpenCV_${component}_LIBRARY opencv_${component})
  mark_as_advanced(OpenCV_${component}_LIBRARY)
  if(OpenCV_${component}_LIBRARY AND EXISTS ${OpenCV_INCLUDE_DIR}/opencv2/${component}.hpp)
    set(OpenCV_${component}_FOUND TRUE)
    list(APPEND OpenCV_LIBS opencv_${component})
    if(NOT TARGET opencv_${component})
      add_library(opencv_${component} UNKNOWN IMPORTED)
      set_target_properties(opencv_${component} PROPERTIES
        IMPORTED_LOCATION ${OpenCV_${component}_LIBRARY}
        INTERFACE_INCLUDE_DIRECTORIES ${OpenCV_INCLUDE_DIR})
    endif()
  endif()
endforeach()

find_package_handle_standard_args(OpenCV
  REQUIRED_VARS OpenCV_INCLUDE_DIR
  VERSION_VAR OpenCV_VERSION
  HANDLE_COMPONENTS)
