import { runProgram } from './program.js';

process.exit(await runProgram(process.argv.slice(2)));
