// Writes the compiled code of the scripts of a bundle for the flags with which this process runs, so that programs that
// start with the same flags need not compile them. Arguments: the path of the script of all programs, then those of all.
import { writeFileSync } from 'node:fs';
import { Bundle, compiledFile } from '../kit/dist/src/program/index.js';

const [path, ...all] = process.argv.slice(2);
const bundle = new Bundle();
const { programs } = bundle.run(path);
// Loading the modules compiles the functions that every start needs.
for (const load of Object.values(programs)) await load();
for (const path of all) bundle.run(path);
for (const [path, script] of bundle.scripts) writeFileSync(compiledFile(path), script.createCachedData());
process.exit();
