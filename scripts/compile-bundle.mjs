// Writes the compiled code of the scripts of a bundle for the flags with which this process runs, so that programs that
// start with the same flags need not compile them. Arguments: the path of the script of all programs, those of all scripts
// of programs, `--` and those of threads.
import { writeFileSync } from 'node:fs';
import { Bundle, compile, compiledFile } from '../kit/dist/src/program/index.js';

const [path, ...scripts] = process.argv.slice(2);
const ofPrograms = scripts.slice(0, scripts.indexOf('--'));
const ofThreads = scripts.slice(ofPrograms.length + 1);
const bundle = new Bundle();
const { programs } = bundle.run(path);
// Loading the modules compiles the functions that every start needs.
for (const load of Object.values(programs)) await load();
for (const path of ofPrograms) bundle.run(path);
for (const path of ofThreads) {
  try {
    bundle.run(path);
  } catch (error) {
    // Scripts of threads refuse to run outside of one, or miss its data, after what they share with others has run.
    if (!/worker thread|workerData/.test(error.message)) throw error;
  }
}
for (const path of [...ofPrograms, ...ofThreads]) {
  const script = bundle.scripts.get(path) ?? compile(path);
  writeFileSync(compiledFile(path), script.createCachedData());
}
process.exit();
