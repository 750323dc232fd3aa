// `npm run commonplace -- …`: runs the operator's commands. Builds first if something has changed.
import './node-version.mjs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const { build, root } = await import('./build.mjs');
build({ say: (line) => console.error(line) });
await import(pathToFileURL(join(root, 'cli/dist/src/main.js')).href);
