// `npm run commonplace -- …`: the operator's commands, built first where something has changed.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, root } from './build.mjs';

build({ say: (line) => console.error(line) });
await import(pathToFileURL(join(root, 'cli/dist/src/main.js')).href);
