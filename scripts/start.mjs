// `npm start`: one process with everything in it, built first where something has changed.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, root } from './build.mjs';

build({ say: (line) => console.log(line) });
await import(pathToFileURL(join(root, 'services/all/dist/src/main.js')).href);
