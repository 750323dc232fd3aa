import { startProgram } from '@commonplace/kit/program';

await startProgram('tenancy', () => import('./serve.js'));
