# cmake -DTOOL=PROGRAM -DKIND=man|bash|zsh -DOUTPUT=FILE [-DSEE_ALSO=TOOL,...] -P generate.cmake
# Writes what the tool says of itself; nothing is written when it fails.
execute_process(COMMAND ${TOOL} --generate ${KIND} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
if(SEE_ALSO)
  string(REPLACE "," "(1),\n.BR " others "${SEE_ALSO}")
  string(REPLACE "(1)," " (1)," others "${others} (1)")
  string(REPLACE "-" "\\-" others "${others}")
  string(APPEND text ".SH SEE ALSO\n.BR ${others}\n")
endif()
file(WRITE ${OUTPUT} "${text}")
