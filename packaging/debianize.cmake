# CPack runs this between installing into a temporary root and making the package of it: adds the
# files that Debian wants and that `cmake --install` has no use for, and gives every file the same
# age, so that the package holds nothing of the hour it was made in.
if(NOT DEFINED ENV{SOURCE_DATE_EPOCH})
  message(FATAL_ERROR "SOURCE_DATE_EPOCH is not set; scripts/package.sh sets it")
endif()

set(root ${CPACK_TEMPORARY_DIRECTORY})
set(doc ${root}/usr/share/doc/${CPACK_PACKAGE_NAME})

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(RENAME ${doc}/CHANGELOG.md ${doc}/changelog)
file(REMOVE ${doc}/LICENSE)  # what follows names it
file(COPY_FILE ${CPACK_PREP_PACKAGING_DIR}/copyright ${doc}/copyright)
# In UTC, whatever the time zone here.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${doc}/changelog.Debian
"${CPACK_PACKAGE_NAME} (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * What changed: changelog.gz.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")

file(GLOB compressed ${doc}/changelog ${doc}/changelog.Debian ${root}/usr/share/man/*/*)
run(gzip -9n ${compressed})
# The umask of who builds is nobody's business, either.
run(find ${root} -type d -exec chmod 755 {} +)
run(find ${root} -type f -exec chmod u=rw,go=r,a+X {} +)
run(find ${root} -exec touch --no-dereference --date=@$ENV{SOURCE_DATE_EPOCH} {} +)
