// `npm start`: runs everything in one process. Builds first if something has changed.
import './node-version.mjs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const { build, root } = await import('./build.mjs');
build({ say: (line) => console.log(line) });
await import(pathToFileURL(join(root, 'services/all/dist/src/main.js')).href);
