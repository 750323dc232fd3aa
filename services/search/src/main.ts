import { startProgram } from '@commonplace/kit/program';

await startProgram('search', () => import('./serve.js'));
