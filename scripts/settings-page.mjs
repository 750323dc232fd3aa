// Writes docs/settings.md from the settings of all services.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { allTables } from '../cli/dist/src/settings.js';
import { settingsPage } from '../cli/dist/src/settings-page.js';
import { root } from './build.mjs';

const file = join(root, 'docs/settings.md');
writeFileSync(file, settingsPage(allTables));
const { status } = spawnSync('npx', ['biome', 'format', '--write', file], { cwd: root, stdio: 'inherit' });
process.exit(status ?? 1);
