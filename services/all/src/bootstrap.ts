import { startProgram } from '@commonplace/kit/program';

await startProgram('bootstrap', () => import('./make-owner.js'));
