// Writes the compiled code of the bundle for the flags with which this process runs, so that programs that start with the
// same flags need not compile it. Argument: the bundle's path.
import { writeFileSync } from 'node:fs';
import { compiledFile, runBundle } from '../kit/dist/src/program/index.js';

const [path] = process.argv.slice(2);
const { programs, script } = runBundle(path);
// Loading the modules compiles the functions that every start needs.
for (const load of Object.values(programs)) await load();
writeFileSync(compiledFile(path), script.createCachedData());
process.exit();
