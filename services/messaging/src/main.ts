import { startProgram } from '@commonplace/kit/program';

await startProgram('messaging', () => import('./serve.js'));
