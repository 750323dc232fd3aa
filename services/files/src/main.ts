import { startProgram } from '@commonplace/kit/program';

await startProgram('files', () => import('./serve.js'));
