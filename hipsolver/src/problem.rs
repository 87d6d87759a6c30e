//! The generalised eigenvalue problems.

/// The generalized eigenvalue problem that [`Solver::sygvd`](crate::Solver::sygvd) solves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EigenProblem {
    /// A x = λ B x
    AxLambdaBx,
    /// A B x = λ x
    AbxLambdaX,
    /// B A x = λ x
    BaxLambdaX,
}

impl EigenProblem {
    pub(crate) fn code(self) -> u32 {
        match self {
            Self::AxLambdaBx => 211,
            Self::AbxLambdaX => 212,
            Self::BaxLambdaX => 213,
        }
    }
}
