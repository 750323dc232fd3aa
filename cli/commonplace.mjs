#!/usr/bin/env node
import { existsSync } from 'node:fs';

if (!existsSync(new URL('dist/src/main.js', import.meta.url))) {
  console.error('Commonplace is not built yet: npm run build');
  process.exit(69);
}
await import('./dist/src/main.js');
