export { homeOf } from '@commonplace/kit/id';
