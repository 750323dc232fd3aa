#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { join } from 'node:path';

if (!existsSync(join(import.meta.dirname, 'dist/src/main.js'))) {
  console.error('Commonplace is not built yet: npm run build');
  process.exit(69);
}
await import('./dist/src/main.js');
